"""Files beneath a job's folder, opened component by component without following a link."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from devctl_gateway.artifacts.names import is_job, parts_of

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe is not waited for, and nothing becomes this process's terminal.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NO_FILE = frozenset(
    {
        *(errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ENODEV),
        *(errno.ENAMETOOLONG, errno.EACCES, errno.EPERM),
    }
)
"""What the system says of links, pipes, what is gone, and what may not be read."""


class NoFileError(Exception):
    """There is no regular file that can be read."""


def enter(name: str, above: int) -> int:
    """A descriptor of a folder that is not a link, in one that is open."""
    return os.open(name, _FOLDER, dir_fd=above)


@contextmanager
def job_folder(top: Path, job_id: str) -> Iterator[int]:
    """A descriptor of a job's folder, for as long as the block lasts.

    Raises:
        NoFileError: It has written nothing yet, or all of it was removed.
    """
    if not is_job(job_id):
        raise NoFileError(job_id)
    with _closing(os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as volume:
        try:
            folder = enter(job_id, volume)
        except OSError as error:
            raise _missing(error) from error
    with _closing(folder):
        yield folder


def opened(top: Path, job_id: str, path: str) -> tuple[io.FileIO, os.stat_result]:
    """A file of a job's, and what the system says of it.

    Raises:
        NoFileError: There is none that can be read: it has another name too, it is a link or a
            pipe, or a part of its path is one.
        OSError: The volume cannot be read.
    """
    parts = parts_of(path)
    if not parts:
        raise NoFileError(path)
    with job_folder(top, job_id) as folder, _parent(folder, parts) as parent:
        if not _is_plain(os.stat(parts[-1], dir_fd=parent, follow_symlinks=False)):
            raise NoFileError(path)
        file = io.FileIO(os.open(parts[-1], _FILE, dir_fd=parent), "r")
    # Something else may have taken its place meanwhile.
    about = os.fstat(file.fileno())
    if not _is_plain(about):
        file.close()
        raise NoFileError(path)
    return file, about


def looked_at(folder: int, path: str) -> os.stat_result | None:
    """What the system says of a file; None unless it is one that can be asked for."""
    parts = parts_of(path)
    if not parts:
        return None
    with suppress(NoFileError), _parent(folder, parts) as parent:
        about = os.stat(parts[-1], dir_fd=parent, follow_symlinks=False)
        return about if _is_plain(about) else None
    return None


@contextmanager
def _parent(folder: int, parts: tuple[str, ...]) -> Iterator[int]:
    """A descriptor of the folder that the last part is in."""
    at = os.dup(folder)
    try:
        for part in parts[:-1]:
            below = enter(part, at)
            os.close(at)
            at = below
        yield at
    except OSError as error:
        raise _missing(error) from error
    finally:
        os.close(at)


def _is_plain(about: os.stat_result) -> bool:
    """Whether it is a regular file with one name."""
    return stat.S_ISREG(about.st_mode) and about.st_nlink == 1


def _missing(error: OSError) -> Exception:
    """NoFileError if that is what an error says, else the error."""
    return NoFileError(error.strerror) if error.errno in _NO_FILE else error


@contextmanager
def _closing(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)
