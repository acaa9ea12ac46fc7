"""Bounded reads of kernel files, and of files that a pod controls."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# A pod may put anything in place of a file: NONBLOCK for pipes, NOCTTY for terminals.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_kernel_file(path: str, limit: int = 65536) -> bytes | None:
    """The start of a file in /proc or a cgroup; None if it is gone or unreadable."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _read(fd, limit)
    except OSError:  # a process that ended after the open
        return None
    finally:
        os.close(fd)


@contextmanager
def folder_of_pod(root: str, *names: str) -> Iterator[int]:
    """A folder below a container's root, opened so that no symlink can lead out of it.

    Args:
        root: /proc/PID/root, which is the only link that is followed.
        names: The folders on the way, one component each.

    Raises:
        OSError: It is missing, unreadable, or something on the way is not a folder.
    """
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names:
            inner = os.open(name, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


def read_file_of_pod(folder: int, name: str, limit: int) -> bytes:
    """A regular file in an open folder.

    Raises:
        OSError: It is missing or unreadable.
        ValueError: It is not a regular file, or larger than `limit` bytes.
    """
    fd = os.open(name, _FILE, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("not a regular file")
        data = _read(fd, limit + 1)
    finally:
        os.close(fd)
    if len(data) > limit:
        raise ValueError(f"larger than {limit} bytes")
    return data


def _read(fd: int, limit: int) -> bytes:
    """Up to `limit` bytes; the kernel returns some files a page at a time."""
    data = os.read(fd, limit)
    while data and len(data) < limit:
        more = os.read(fd, limit - len(data))
        if not more:
            break
        data += more
    return data
