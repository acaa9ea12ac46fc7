"""Files below a folder here, reached without following a link: what came once may be one."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from devctl.client.files.names import readable
from devctl.errors import DevctlError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Beneath:
    """A folder that is held open, and what is below it."""

    def __init__(self, top: int) -> None:
        """Take over a descriptor of the folder."""
        self._top = top
        self._last: tuple[str, int] | None = None

    def file(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Open a file that is not a link; a descriptor."""
        parent, own = self.parent(name)
        return os.open(own, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=parent)

    def stat(self, name: str) -> os.stat_result | None:
        """What a name is, links not followed; None where there is nothing.

        Raises:
            DevctlError: A folder on the way is a link or a file.
        """
        try:
            parent, own = self.parent(name, make=False)
            return os.stat(own, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def readlink(self, name: str) -> str:
        """Where a link leads."""
        parent, own = self.parent(name, make=False)
        return os.readlink(own, dir_fd=parent)

    def symlink(self, target: str, name: str) -> None:
        """Make a link."""
        parent, own = self.parent(name)
        os.symlink(target, own, dir_fd=parent)

    def remove(self, name: str) -> None:
        """Remove a file, and the folders that are empty then."""
        parent, own = self.parent(name, make=False)
        os.unlink(own, dir_fd=parent)
        folder = name.rpartition("/")[0]
        self._forget()
        while folder:
            above, own = self.parent(folder, make=False)
            try:
                os.rmdir(own, dir_fd=above)
            except OSError:
                return
            self._forget()
            folder = folder.rpartition("/")[0]

    def make(self, folder: str) -> None:
        """Make a folder, where there is none."""
        self.parent(f"{folder}/.")

    def parent(self, name: str, *, make: bool = True) -> tuple[int, str]:
        """A descriptor of the folder that a name is in, and the name's last part.

        Args:
            name: The name.
            make: Whether folders that are missing are made.

        Raises:
            DevctlError: A folder on the way is a link or a file.
            FileNotFoundError: One is missing.
        """
        folder, _, own = name.rpartition("/")
        if not folder:
            return self._top, own
        if self._last and self._last[0] == folder:
            return self._last[1], own
        self._forget()
        at = os.dup(self._top)
        try:
            for part in folder.split("/"):
                below = _enter(at, part, folder, make=make)
                os.close(at)
                at = below
        except BaseException:
            os.close(at)
            raise
        self._last = (folder, at)
        return at, own

    def close(self) -> None:
        """Let go of what is held, the folder itself too."""
        self._forget()
        os.close(self._top)

    def _forget(self) -> None:
        if self._last:
            os.close(self._last[1])
            self._last = None


def _enter(at: int, part: str, folder: str, *, make: bool) -> int:
    while True:
        try:
            return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
        except FileNotFoundError:
            if not make:
                raise
            try:
                os.mkdir(part, dir_fd=at)
            except FileExistsError:
                continue
        except NotADirectoryError as error:
            raise DevctlError(
                f"`{readable(part)}` in `{readable(folder)}` is a link or a file here, and has to"
                " be a folder; nothing here was changed",
                "rename it, or choose another folder",
            ) from error


@contextmanager
def beneath(folder: Path) -> Iterator[Beneath]:
    """A folder of this machine, held open; where it leads by links is the caller's wish."""
    held = Beneath(os.open(folder, _FOLDER))
    try:
        yield held
    finally:
        held.close()
