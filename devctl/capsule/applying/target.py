"""The folder that is made: beside it are the one in the making, and a file that says what it is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .refusal import NO_TARGET, RefusedError, shown


class Target:
    """A folder that exists when it is finished, and not before."""

    def __init__(self, folder: str) -> None:
        """Nothing is looked at yet; only the last part of its path is ours to make."""
        self.folder = Path(os.path.abspath(folder))  # noqa: PTH100 - links above it are followed
        self.incoming = self.folder.with_name(f".{self.folder.name}.incoming")
        self._done = self.folder.with_name(f".{self.folder.name}.capsule")

    def __str__(self) -> str:
        """For messages."""
        return shown(os.fsencode(self.folder))

    def is_finished(self, digest: str) -> bool:
        """Whether it is what a capsule makes; an empty folder is as good as none.

        Raises:
            RefusedError: Something else is there.
        """
        if not os.path.lexists(self.folder):
            return False
        folder = self.folder.is_dir() and not self.folder.is_symlink()
        if folder and not any(self.folder.iterdir()):
            return False
        if not folder or self._made_of() != digest:
            raise RefusedError(NO_TARGET, f"{self} is there already, and not of this capsule")
        return True

    def begin(self) -> None:
        """Make the folder that is to become it, and remove what an interrupted run has left."""
        self.abandon()
        self.incoming.mkdir(mode=0o755)

    def abandon(self) -> None:
        """Remove the folder in the making."""
        _remove(self.incoming)

    def finish(self, digest: str) -> None:
        """Have it exist."""
        new = self._done.with_name(f"{self._done.name}.new")
        _remove(new)
        with new.open("x", encoding="ascii") as file:
            file.write(digest)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._done)
        self.incoming.rename(self.folder)

    def _made_of(self) -> str:
        try:
            return self._done.read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            return ""


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    elif os.path.lexists(place):
        place.unlink()
