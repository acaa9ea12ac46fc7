"""Where files lie that have come from a pod until all of them are here."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from devctl.client.files.ignore import INCOMING
from devctl.errors import DeniedError

if TYPE_CHECKING:
    from collections.abc import Iterator

_STALE = 3600.0
_SPARE = 16 << 20
"""Bytes of a disk that a pod does not get."""


@contextmanager
def incoming(target: Path) -> Iterator[Path]:
    """A folder in the one that files are for, on the same disk; gone afterwards.

    Raises:
        DeniedError: There can be none.
    """
    _remove_stale(target)
    try:
        folder = Path(tempfile.mkdtemp(prefix=INCOMING, dir=target))
    except OSError as error:
        raise DeniedError(
            f"cannot write into `{target}`: {error.strerror}", "choose another folder"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def target_folder(target: Path) -> Iterator[Path]:
    """The folder that files are for; where they do not come, none is made.

    With one that is there, the same command would mean another place the next time.
    """
    new = not target.is_dir()
    target.mkdir(parents=True, exist_ok=True)
    try:
        yield target.resolve()
    except BaseException:
        if new:
            with suppress(OSError):
                target.rmdir()
        raise


def room(target: Path) -> int:
    """How many bytes a pod may send to a folder."""
    return max(0, shutil.disk_usage(target).free - _SPARE)


def _remove_stale(target: Path) -> None:
    """Remove what a copy of ours has left that was cut off more than an hour ago."""
    with suppress(OSError), os.scandir(target) as entries:
        found = [Path(entry.path) for entry in entries if entry.name.startswith(INCOMING)]
        for folder in found:
            about = folder.lstat()
            ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()
            if ours and time.time() - _last_change(folder) > _STALE:
                shutil.rmtree(folder, ignore_errors=True)


def _last_change(folder: Path) -> float:
    """When something in a folder was last written; a file's own time may be that of its origin."""
    times = [folder.lstat().st_ctime]
    for place, folders, files in os.walk(folder):
        times += [(Path(place) / name).lstat().st_ctime for name in (*folders, *files)]
    return max(times)
