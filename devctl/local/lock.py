"""A lock file that contains its holder's pid and is released when the holder dies."""

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
    """Hold an exclusive lock on `path` for the duration of the block.

    The file is never removed: a process that waits for a removed file and one that creates a new
    file would both get the lock. `on_wait` is called once with a message before waiting for a held
    lock; without it, nothing is waited for.

    Raises:
        BusyError: The lock is held and `on_wait` is None.
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
    """The holder's pid, which is written shortly after locking."""
    for _ in range(20):
        pid = os.pread(descriptor, 32, 0).decode().strip()
        if pid:
            return pid
        time.sleep(0.05)
    return "unknown"
