"""Standard input, output and the terminal of this process, connected to a command in a pod."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import threading
import tty
from contextlib import contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, NoReturn

from devctl.errors import DevctlError
from devctl.kube.pod_streams import STDERR, STDOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType

    from devctl.client.streams.execute import WholeStream
    from devctl.kube.pod_streams import ExecStream

_SIZE = 1 << 16
_WINDOW = (80, 24)
"""Columns and rows of a terminal that does not know its size."""


def feed(stream: ExecStream | WholeStream, source: int | bytes) -> threading.Thread:
    """Send some bytes, or what a descriptor gives until it ends, while the caller reads."""
    pieces = iter(partial(read, source), b"") if isinstance(source, int) else [source]

    def send() -> None:
        # The reader notices a command that ends, or a connection that is lost.
        with suppress(DevctlError, OSError):
            for piece in pieces:
                stream.write(piece)
            stream.close_stdin()

    thread = threading.Thread(target=send, name="standard input", daemon=True)
    thread.start()
    return thread


def drain(
    pieces: Iterable[tuple[int, bytes]], output: int, errors: Callable[[bytes], object]
) -> None:
    """Write what a command prints to a descriptor until it ends.

    ConnectionLostError if the connection is lost, as the command's end is then unknown.
    """
    for channel, data in pieces:
        if channel == STDOUT:
            write(output, data)
        elif channel == STDERR:
            errors(data)


def drain_terminal(
    stream: ExecStream, source: int, output: int, errors: Callable[[bytes], object]
) -> int:
    """Connect a command's terminal with this process's until it ends; its exit code."""
    with stream, raw(source, stream.resize):
        feed(stream, source)
        drain(stream.read(), output, errors)
        return stream.exit_code


def write(target: int, data: bytes) -> None:
    """Write all data, even if another program has made the descriptor non-blocking."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:
            select.select([], [target], [])


def read(source: int) -> bytes:
    """Wait for some data; empty at the end."""
    while True:
        try:
            return os.read(source, _SIZE)
        except BlockingIOError:
            select.select([source], [], [])
        except OSError:
            # A terminal whose window was closed.
            return b""


@contextmanager
def raw(source: int, resize: Callable[[int, int], None]) -> Iterator[None]:
    """Have a terminal pass on each key, Ctrl-C too, and restore it afterwards.

    `resize` is told its columns and rows, now and whenever they change.
    """
    before = termios.tcgetattr(source)
    # A process that a signal ended would leave a terminal that does not show what is typed.
    with _handled({signal.SIGTERM: _end, signal.SIGHUP: _end}), _sizes(source, resize):
        try:
            tty.setraw(source, termios.TCSADRAIN)
            yield
        finally:
            # The terminal may be gone: its window was closed.
            with suppress(termios.error):
                termios.tcsetattr(source, termios.TCSADRAIN, before)


def terminal_size(source: int) -> tuple[int, int]:
    """Columns and rows of a terminal."""
    try:
        found = os.get_terminal_size(source)
    except OSError:
        return _WINDOW
    return (found.columns or _WINDOW[0], found.lines or _WINDOW[1])


@contextmanager
def _sizes(source: int, resize: Callable[[int, int], None]) -> Iterator[None]:
    """Tell the size from a thread: a signal may interrupt the holder of the stream's lock."""
    changed: SimpleQueue[str] = SimpleQueue()

    def tell() -> None:
        while changed.get() != "over":
            # A stream that has ended says so to its reader.
            with suppress(Exception):
                resize(*terminal_size(source))

    threading.Thread(target=tell, name="terminal size", daemon=True).start()
    with _handled({signal.SIGWINCH: lambda _number, _frame: changed.put("again")}):
        changed.put("first")
        try:
            yield
        finally:
            changed.put("over")


@contextmanager
def _handled(handlers: dict[int, Callable[[int, FrameType | None], object]]) -> Iterator[None]:
    """Handle signals; Python allows that in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, each) for number, each in handlers.items()}
    try:
        yield
    finally:
        for number, each in before.items():
            signal.signal(number, each)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)
