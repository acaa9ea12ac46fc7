"""Bytes between file descriptors of this process and a command in a pod."""

from __future__ import annotations

import os
import select
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from devctl.errors import DevctlError
from devctl.kube.pod_streams import STDERR, STDOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devctl.client.streams.whole import WholeStream
    from devctl.kube.pod_streams import ExecStream

    Stream = ExecStream | WholeStream

_SIZE = 1 << 16


class Command(Protocol):
    """What a command prints, and how it ends."""

    @property
    def exit_code(self) -> int:
        """Once all has been read."""

    def read(self) -> Iterator[tuple[int, bytes]]:
        """What arrives, by channel, until it ends."""


def feed(stream: Stream, source: int) -> threading.Thread:
    """Send what a descriptor gives until it ends, in a thread that nobody has to wait for."""
    thread = threading.Thread(
        target=_send, args=(stream, source), name="standard input", daemon=True
    )
    thread.start()
    return thread


def feed_bytes(stream: Stream, data: bytes) -> threading.Thread:
    """Send some bytes and no more, while whoever calls reads what comes back."""

    def send() -> None:
        with suppress(DevctlError, OSError):
            stream.write(data)
            stream.close_stdin()

    thread = threading.Thread(target=send, name="standard input", daemon=True)
    thread.start()
    return thread


def drain(stream: Command, output: int, errors: Callable[[bytes], object]) -> int:
    """Write what a command prints until it ends.

    Args:
        stream: The command.
        output: Where its output goes.
        errors: Takes what it writes to standard error.

    Returns:
        The command's exit code.

    Raises:
        ConnectionLostError: The connection is lost, and the command's end unknown.
    """
    for channel, data in stream.read():
        if channel == STDOUT:
            write(output, data)
        elif channel == STDERR:
            errors(data)
    return stream.exit_code


def write(target: int, data: bytes) -> None:
    """Write all of it, also where another program has made the descriptor non-blocking."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:
            select.select([], [target], [])


def read(source: int) -> bytes:
    """What there is, once there is something; empty at the end."""
    while True:
        try:
            return os.read(source, _SIZE)
        except BlockingIOError:
            select.select([source], [], [])
        except OSError:
            # A terminal whose window was closed.
            return b""


def _send(stream: Stream, source: int) -> None:
    # A command that ends, or a connection that is lost, is told by whoever reads.
    with suppress(DevctlError, OSError):
        while data := read(source):
            stream.write(data)
        stream.close_stdin()
