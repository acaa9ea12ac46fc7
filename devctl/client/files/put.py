"""What has come from a pod, moved to its place: all of it, or nothing."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from devctl.client.files.beneath import beneath
from devctl.client.files.names import named
from devctl.errors import DevctlError, HostError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from devctl.client.files.beneath import Beneath
    from devctl.client.files.unpack import Unpacking

    MayReplace = Callable[[str, os.stat_result], bool]

_PIECE = 1 << 18


def put_folder(
    source: Path,
    target: Path,
    unpacking: Unpacking,
    *,
    may_replace: MayReplace = lambda _name, _there: False,
    fix: str = "move it away, or choose another folder",
) -> None:
    """Move what has been unpacked to a folder, which keeps what it has.

    Args:
        source: Where it has been unpacked.
        target: The folder.
        unpacking: What has been unpacked.
        may_replace: Whether a file that differs, as it is now, may be replaced.
        fix: What a person can do where something would be replaced.

    Raises:
        DevctlError: Something there would be replaced, or is in the way; all is as it was.
    """
    with beneath(source) as come, beneath(target) as here:
        moves = _moves(come, here, unpacking.files, may_replace, fix)
        name = ""
        try:
            for name in unpacking.folders:
                here.make(name)
            for name in moves:
                source_fd, own = come.parent(name, make=False)
                target_fd, _ = here.parent(name)
                os.rename(own, own, src_dir_fd=source_fd, dst_dir_fd=target_fd)
        except OSError as error:
            raise HostError(
                f"{named([name])} cannot be put into `{target}`: {error.strerror}",
                "change its mode, or choose another folder",
            ) from error


def _moves(
    come: Beneath, here: Beneath, names: list[str], may_replace: MayReplace, fix: str
) -> list[str]:
    """Which files are to be moved, for they are not here as they have come."""
    moves: list[str] = []
    replaced: list[str] = []
    blocked: list[str] = []
    for name in names:
        there = here.stat(name)
        if there is None:
            moves.append(name)
        elif not (stat.S_ISREG(there.st_mode) or stat.S_ISLNK(there.st_mode)):
            blocked.append(name)
        elif not _same(come, here, name, there):
            (moves if may_replace(name, there) else replaced).append(name)
    if blocked:
        raise DevctlError(
            f"{named(blocked)} is a folder or a device here, and a file there; nothing here was"
            " changed",
            "rename the one or the other",
        )
    if replaced:
        raise DevctlError(f"{named(replaced)} would be replaced; nothing here was changed", fix)
    return moves


def _same(come: Beneath, here: Beneath, name: str, there: os.stat_result) -> bool:
    """Whether a file is here already as it has come."""
    about = come.stat(name)
    if about is None or stat.S_IFMT(about.st_mode) != stat.S_IFMT(there.st_mode):
        return False
    if stat.S_ISLNK(there.st_mode):
        return come.readlink(name) == here.readlink(name)
    as_program = not (about.st_mode ^ there.st_mode) & stat.S_IXUSR
    return about.st_size == there.st_size and as_program and _same_content(come, here, name)


def _same_content(come: Beneath, here: Beneath, name: str) -> bool:
    try:
        with (
            os.fdopen(come.file(name, os.O_RDONLY), "rb", buffering=0) as one,
            os.fdopen(here.file(name, os.O_RDONLY), "rb", buffering=0) as other,
        ):
            while piece := one.read(_PIECE):
                if piece != other.read(_PIECE):
                    return False
    except OSError:
        return False
    return True
