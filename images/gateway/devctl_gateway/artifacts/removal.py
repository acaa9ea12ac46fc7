"""Files of jobs are removed: set aside at once, and removed bit by bit.

Every step can be repeated, also by two replicas at a time. No link is followed, no folder needs
permissions, and however deep a tree is, two descriptors are open: folders that are not empty are
moved to the top, and emptied there.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from devctl_gateway.artifacts.beneath import enter
from devctl_gateway.artifacts.names import is_job
from devctl_gateway.artifacts.threads import in_thread
from devctl_gateway.settings import Settings

ASIDE = ".removed-"
"""What the name of a folder begins with that was set aside; no job has such an ID."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NOT_EMPTY = frozenset({errno.ENOTEMPTY, errno.EEXIST})


class Folders(NamedTuple):
    """What is on the volume: folders that jobs write to, and names of those that were set aside."""

    jobs: list[str]
    aside: list[str]


def folders(top: Path) -> Folders:
    """The folders of the volume."""
    with os.scandir(top) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    jobs = sorted(name for name in names if is_job(name))
    return Folders(jobs, [name for name in names if name.startswith(ASIDE)])


async def remove_artifacts(settings: Settings, job_id: str) -> None:
    """Remove what a job has written: nobody sees it any more when this returns.

    The retention loop frees the space. Repeating it changes nothing; nor does it do anything where
    no artifacts are kept.

    Raises:
        UnavailableError: The volume does not answer.
    """
    if settings.artifacts_folder:
        await in_thread(set_aside, Path(settings.artifacts_folder), job_id)


def set_aside(top: Path, job_id: str) -> None:
    """Give a job's folder a name that no job has; nothing if it has none."""
    if is_job(job_id):
        with suppress(FileNotFoundError):
            (top / job_id).rename(top / f"{ASIDE}{job_id}-{token_hex(4)}")


def purge(top: Path, aside: str, seconds: float) -> bool:
    """Remove a folder that was set aside.

    Args:
        top: The volume.
        aside: The folder's name.
        seconds: For how long at most.

    Returns:
        Whether it is gone.

    Raises:
        OSError: Something in it cannot be removed.
    """
    until = time.monotonic() + seconds
    volume = os.open(top, _FOLDER)
    try:
        return _purge(volume, aside, until)
    finally:
        os.close(volume)


def _purge(volume: int, aside: str, until: float) -> bool:
    while not _drop(aside, volume):
        folder = _enter(aside, volume)
        if folder is None:
            return True
        try:
            done = _empty(folder, folder, until)
        finally:
            os.close(folder)
        if not done or time.monotonic() >= until:
            return False
    return True


def _empty(folder: int, top: int, until: float) -> bool:
    """Remove all that is in a folder, or move it to the top; whether there was time for that."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if time.monotonic() >= until:
                return False
            if _drop(entry.name, folder):
                continue
            if folder != top:
                _move(entry.name, folder, top)
            elif not _empty_below(entry.name, top, until):
                return False
    return True


def _empty_below(name: str, top: int, until: float) -> bool:
    """Remove a folder at the top, whose own folders become its neighbours."""
    below = _enter(name, top)
    if below is None:
        return True
    try:
        done = _empty(below, top, until)
    finally:
        os.close(below)
    if done:
        _drop(name, top)
    return done


def _drop(name: str, above: int) -> bool:
    """Remove a file, a link or an empty folder; whether it is gone."""
    try:
        os.unlink(name, dir_fd=above)
    except FileNotFoundError:
        return True
    except IsADirectoryError:
        return _drop_folder(name, above)
    return True


def _drop_folder(name: str, above: int) -> bool:
    try:
        os.rmdir(name, dir_fd=above)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno in _NOT_EMPTY:
            return False
        raise
    return True


def _move(name: str, above: int, top: int) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        # Its `..` changes, so it must be writable itself.
        _permit(name, above)
        os.rename(name, token_hex(16), src_dir_fd=above, dst_dir_fd=top)


def _enter(name: str, above: int) -> int | None:
    """A descriptor of a folder that can be emptied; None if it is gone."""
    try:
        _permit(name, above)
        return enter(name, above)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _permit(name: str, above: int) -> None:
    """Have a folder's owner read and change it: this process, as jobs have its user.

    By way of /proc, as what has the name by then is not what is meant.
    """
    held = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        with suppress(PermissionError):  # the job's own folder may be the kubelet's
            os.chmod(f"/proc/self/fd/{held}", 0o700)  # noqa: PTH101 - there is no such path
    finally:
        os.close(held)
