"""One change at a time: a lock that knows its holder's pid and dies with it."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from devctl.errors import BusyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextmanager
def hold(path: Path, what: str, on_wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold `path` exclusively for the duration of the block.

    The kernel drops the lock with the process, so a killed holder never blocks anybody.

    Args:
        path: The lock file; made where it is missing and never removed, since removing a lock
            file that somebody waits for would let two in.
        what: What is being changed, for the message.
        on_wait: Called once with a message if the lock is taken; then this waits. None refuses
            at once instead.

    Raises:
        BusyError: The lock is taken and `on_wait` is None.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read_pid(descriptor)
            message = f"{what} is being changed by another devctl (pid {holder})"
            if on_wait is None:
                raise BusyError(message, "wait until it is done, then try again") from None
            on_wait(message)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _read_pid(descriptor: int) -> str:
    """The holder's pid; it is written just after locking, so an empty file gets a moment."""
    for _ in range(20):
        pid = os.pread(descriptor, 32, 0).decode().strip()
        if pid:
            return pid
        time.sleep(0.05)
    return "unknown"
