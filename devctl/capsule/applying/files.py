"""Files below a folder: written without following links, and read again."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from .items import LINK, Item, object_hash, pieces
from .refusal import BAD_TREE, RefusedError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import Self

_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW


class Writer:
    """Writes below a folder without following links."""

    def __init__(self, top: Path) -> None:
        """Open the folder."""
        self.top = os.open(top, os.O_RDONLY | os.O_DIRECTORY | _OPEN)
        self._last: tuple[bytes, int] | None = None

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it."""
        self._leave()
        os.close(self.top)

    def write(self, path: bytes, mode: int, content: Iterable[bytes]) -> None:
        """Create a file."""
        folder, name = self._at(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN
        with os.fdopen(os.open(name, flags, 0o600, dir_fd=folder), "wb") as file:
            file.writelines(content)
            os.fchmod(file.fileno(), stat.S_IMODE(mode))

    def read(self, path: bytes) -> Iterator[bytes]:
        """What is in a file."""
        folder, name = self._at(path)
        with os.fdopen(os.open(name, os.O_RDONLY | _OPEN, dir_fd=folder), "rb") as file:
            yield from pieces(file)

    def link(self, path: bytes, target: bytes) -> None:
        """Create a link."""
        folder, name = self._at(path)
        os.symlink(target, name, dir_fd=folder)

    def _at(self, path: bytes) -> tuple[int, bytes]:
        """A path's folder, made if it is missing, and its name there."""
        above, _, name = path.rpartition(b"/")
        if not above:
            return self.top, name
        if not self._last or self._last[0] != above:
            self._leave()
            self._last = above, _entered(self.top, above)
        return self._last[1], name

    def _leave(self) -> None:
        if self._last:
            os.close(self._last[1])
            self._last = None


def _entered(top: int, path: bytes) -> int:
    at = os.dup(top)
    for part in path.split(b"/"):
        try:
            with suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=at)
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _OPEN, dir_fd=at)
        finally:
            os.close(at)
        at = below
    return at


def verify(top: int, items: dict[bytes, Item]) -> None:
    """Read everything below a folder, and compare it with what should be there."""
    left = dict(items)
    for place, folders, names, folder in os.fwalk(b".", dir_fd=top):
        for name in [*names, *_links(folders, folder)]:
            path = os.path.join(place, name)[2:]  # noqa: PTH118
            item = left.pop(path, None)
            if item is None or not _is_right(folder, name, item):
                raise RefusedError(BAD_TREE, f"{shown(path)} is not what was written")
    for path in left:
        raise RefusedError(BAD_TREE, f"{shown(path)} is missing")


def _links(names: list[bytes], folder: int) -> list[bytes]:
    """Those that lead to folders: they are listed with these."""
    kinds = {name: os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode for name in names}
    return [name for name, kind in kinds.items() if stat.S_ISLNK(kind)]


def _is_right(folder: int, name: bytes, item: Item) -> bool:
    about = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if item.mode == LINK:
        return stat.S_ISLNK(about.st_mode) and os.readlink(name, dir_fd=folder) == item.target
    if about.st_mode != item.mode:
        return False
    seen = object_hash(item.oid, "blob", about.st_size) if item.oid else hashlib.sha256()
    with os.fdopen(os.open(name, os.O_RDONLY | _OPEN, dir_fd=folder), "rb") as file:
        for piece in pieces(file):
            seen.update(piece)
    return bool(seen.hexdigest() == (item.oid or item.sha256))
