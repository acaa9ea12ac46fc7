"""What the working tree has at a path, seen without following links."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from devctl.capsule.applying.items import object_hash, pieces
from devctl.client.checkout.listing import changed_meanwhile
from devctl.client.files.local import Beneath
from devctl.client.files.names import named
from devctl.errors import DevctlError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Stamp(NamedTuple):
    """By which a change is noticed."""

    mode: int
    size: int
    changed: int
    touched: int
    inode: int

    @classmethod
    def of(cls, about: os.stat_result) -> Stamp:
        """Of what a file system says."""
        return cls(about.st_mode, about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)


class Content(NamedTuple):
    """A file's size and digests, the way git and others name it."""

    size: int
    oid: str
    sha256: str


class Disk(AbstractContextManager["Disk"]):
    """The files below a folder; what is behind a link is not there."""

    def __init__(self, root: Path) -> None:
        """Open the folder."""
        self._root = root
        self._beneath = Beneath(root)
        self._folders: dict[str, bool] = {"": True}

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self._beneath.__exit__(*error)

    def stat(self, name: str) -> os.stat_result | None:
        """What a name is, without following it; None if it does not exist, or is a folder."""
        about = self._stat(name)
        return None if about is None or stat.S_ISDIR(about.st_mode) else about

    def file(self, name: str, about: os.stat_result, like: str) -> Content | None:
        """What is in a file that was found as `about`; None if it has changed since.

        `like` is any object of the repository.
        """
        git, plain = object_hash(like, "blob", about.st_size), hashlib.sha256()
        size = 0
        with self._reading(name), self._beneath.read(name) as file:
            if Stamp.of(os.fstat(file.fileno())) != Stamp.of(about):
                return None
            for piece in pieces(file):
                git.update(piece)
                plain.update(piece)
                size += len(piece)
        if size != about.st_size:
            return None
        return Content(size, git.hexdigest(), plain.hexdigest())

    def head(self, name: str, most: int) -> bytes:
        """What a file begins with."""
        with self._reading(name), self._beneath.read(name) as file:
            return file.read(most)

    def link(self, name: str) -> str:
        """Where a link leads."""
        with self._reading(name):
            return self._beneath.readlink(name)

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise changed_meanwhile([name]) from error
        except OSError as error:
            raise unreadable(name, error) from error

    def _stat(self, name: str) -> os.stat_result | None:
        if not self._is_folder(name.rpartition("/")[0]):
            return None
        try:
            return (self._root / name).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise unreadable(name, error) from error

    def _is_folder(self, name: str) -> bool:
        if name not in self._folders:
            about = self._stat(name)
            self._folders[name] = about is not None and stat.S_ISDIR(about.st_mode)
        return self._folders[name]


def link_content(target: str, like: str) -> Content:
    """What git and others have of a link; `like` is any object of the repository."""
    raw = os.fsencode(target)
    seen = object_hash(like, "blob", len(raw))
    seen.update(raw)
    return Content(len(raw), seen.hexdigest(), hashlib.sha256(raw).hexdigest())


def unreadable(name: str, error: OSError) -> DevctlError:
    """The error for a file that may not be read."""
    return DevctlError(
        f"nothing was sent: {named([name])} cannot be read: {error.strerror}",
        "change its mode, or that of its folder",
    )
