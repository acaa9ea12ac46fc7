"""The terminal here, handed to a program elsewhere and given back as it was."""

from __future__ import annotations

import os
import signal
import sys
import termios
import threading
import tty
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_SIZE = (80, 24)
"""What a terminal that does not know its size is taken for."""


@contextmanager
def raw(source: int, resize: Callable[[int, int], None]) -> Iterator[None]:
    """Pass each key on as it is, Ctrl-C too; afterwards the terminal is as it was.

    Args:
        source: The terminal's file descriptor.
        resize: Told columns and rows, now and whenever they change.
    """
    before = termios.tcgetattr(source)
    # What ends this process would leave a terminal in which nobody sees what they type.
    with _heard({signal.SIGTERM: _end, signal.SIGHUP: _end}), _sizes(source, resize):
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
        return _SIZE
    return (found.columns or _SIZE[0], found.lines or _SIZE[1])


@contextmanager
def _sizes(source: int, resize: Callable[[int, int], None]) -> Iterator[None]:
    """Tell the size from a thread: a signal may interrupt whoever holds the stream's lock."""
    changed: SimpleQueue[str] = SimpleQueue()

    def tell() -> None:
        while changed.get() != "over":
            # A stream that has ended says so to its reader.
            with suppress(Exception):
                resize(*terminal_size(source))

    threading.Thread(target=tell, name="terminal size", daemon=True).start()
    with _heard({signal.SIGWINCH: lambda _number, _frame: changed.put("again")}):
        changed.put("first")
        try:
            yield
        finally:
            changed.put("over")


@contextmanager
def _heard(handlers: dict[int, Callable[[int, FrameType | None], object]]) -> Iterator[None]:
    """Have signals handled; Python lets the main thread alone say so."""
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
