"""Files on this machine: chosen to be sent, and read and written without following links."""

from __future__ import annotations

import hashlib
import io
import os
import stat
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.files.ignore import OWN_RULES
from devctl.client.files.names import link_problem, named, parents
from devctl.client.files.secrets import MOST, secret_content, secret_name
from devctl.client.files.transfer import amount
from devctl.errors import DevctlError, UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

LARGE = 1 << 30
"""Bytes; a larger file is rarely sent on purpose."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PLAIN = os.O_NOFOLLOW | os.O_CLOEXEC


class Entry(NamedTuple):
    """A file, link or empty folder; `mode` includes its type, `changed` is in nanoseconds."""

    path: str
    mode: int
    size: int
    changed: int
    target: str = ""

    @property
    def mtime(self) -> int:
        """When it was changed, in seconds, as archives store it."""
        return self.changed // 1_000_000_000


@dataclass(frozen=True)
class Selection:
    """What is sent of a folder, and names of files that are left out as they look like secrets."""

    root: Path
    entries: list[Entry]
    secrets: list[str] = field(default_factory=list)


def entry(root: Path, path: str) -> Entry:
    """A file, link or folder as it is now; DevctlError if it cannot be read."""
    file = root / path
    try:
        found = file.lstat()
        if stat.S_ISDIR(found.st_mode):
            return Entry(path, found.st_mode, 0, found.st_mtime_ns)
        target = os.readlink(file) if stat.S_ISLNK(found.st_mode) else ""  # noqa: PTH115 - as text
    except OSError as error:
        raise _refused(path, f"it cannot be read: {error.strerror}") from error
    return Entry(path, found.st_mode, found.st_size, found.st_mtime_ns, target)


def select(
    root: Path,
    names: Iterable[str],
    *,
    secrets: bool = False,
    large: bool = False,
    known: Callable[[Entry], bool] = lambda _entry: False,
) -> Selection:
    """Leave out files that look like secrets; DevctlError if another one cannot be sent.

    The root's path has no links. What is `known`, as it was sent before, is not searched again.
    """
    entries, left_out = [], []
    for name in names:
        try:
            found = entry(root, name)
        except DevctlError:
            if os.path.lexists(root / name):
                raise
            # It has gone since it was listed, as editors' temporary files do.
            continue
        _check(root, found, large=large)
        # A link is a name only, and reveals nothing.
        regular = stat.S_ISREG(found.mode)
        if not secrets and regular and not known(found) and _secret(root, found):
            left_out.append(name)
        else:
            entries.append(found)
    return Selection(root, entries, left_out)


def chosen_file(file: Path) -> Entry:
    """A file that the user has named, whatever its content; DevctlError if it cannot be sent."""
    found = entry(file.parent, file.name)
    if not (stat.S_ISREG(found.mode) or stat.S_ISLNK(found.mode)):
        raise DevctlError(
            f"`{readable(str(file))}` is a pipe, a socket or a device", "choose a file or a folder"
        )
    _check(file.parent, found, large=True)
    return found


def open_plain(path: Path) -> io.FileIO:
    """Open a file for reading, without following a link or waiting for a pipe."""
    return io.FileIO(os.open(path, _PLAIN | os.O_RDONLY | os.O_NONBLOCK), "r")


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content, in hex; empty if it cannot be read."""
    try:
        with open_plain(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _check(root: Path, found: Entry, *, large: bool) -> None:
    if stat.S_ISLNK(found.mode):
        if why := link_problem(found.path, found.target):
            raise _refused(found.path, f"this link {why}")
    elif stat.S_ISREG(found.mode):
        if not os.access(root / found.path, os.R_OK):
            raise _refused(found.path, "you may not read it")
        if found.size > LARGE and not large:
            raise UsageError(
                f"nothing was sent: `{readable(found.path)}` has {amount(found.size)}",
                f"send it with --large, or add it to `{OWN_RULES}`",
            )
    elif not stat.S_ISDIR(found.mode):
        raise _refused(found.path, "it is a pipe, a socket or a device")


def _secret(root: Path, found: Entry) -> bool:
    if secret_name(found.path):
        return True
    if found.size > MOST:
        return False
    try:
        with open_plain(root / found.path) as file:
            return secret_content(file.read(MOST))
    except OSError as error:
        raise _refused(found.path, f"it cannot be read: {error.strerror}") from error


def _refused(path: str, why: str) -> DevctlError:
    return DevctlError(
        f"nothing was sent: {named([path])}: {why}", f"remove it, or add it to `{OWN_RULES}`"
    )


class Beneath(AbstractContextManager["Beneath"]):
    """A folder that is held open; files below it are reached without following links.

    Links in its own path are followed, as the user has chosen it. Below it, a link or a file where
    a folder should be is a DevctlError.
    """

    def __init__(self, top: Path) -> None:
        """Open the folder."""
        self._top = os.open(top, _FOLDER)
        self._last: tuple[str, int] | None = None

    def read(self, name: str) -> io.FileIO:
        """Open a file that is not a link."""
        parent, own = self.parent(name, make=False)
        return io.FileIO(os.open(own, _PLAIN | os.O_RDONLY, dir_fd=parent), "r")

    def create(self, name: str) -> io.FileIO:
        """Create a file that does not exist, which only its owner may read."""
        parent, own = self.parent(name)
        flags = _PLAIN | os.O_WRONLY | os.O_CREAT | os.O_EXCL
        return io.FileIO(os.open(own, flags, 0o600, dir_fd=parent), "w")

    def stat(self, name: str) -> os.stat_result | None:
        """What a name is, without following it; None if it does not exist."""
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
        """Create a link."""
        parent, own = self.parent(name)
        os.symlink(target, own, dir_fd=parent)

    def remove(self, name: str) -> None:
        """Remove a file, and the folders that this leaves empty."""
        parent, own = self.parent(name, make=False)
        os.unlink(own, dir_fd=parent)
        with suppress(OSError):
            for folder in reversed(parents(name)):
                self._forget()
                above, own = self.parent(folder, make=False)
                os.rmdir(own, dir_fd=above)

    def parent(self, name: str, *, make: bool = True) -> tuple[int, str]:
        """A descriptor of a name's folder, created if `make`, and the last part of the name."""
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

    def __exit__(self, *_error: object) -> None:
        """Close it."""
        self._forget()
        os.close(self._top)

    def _forget(self) -> None:
        if self._last:
            os.close(self._last[1])
            self._last = None


def _enter(at: int, part: str, folder: str, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(part, dir_fd=at)
    try:
        return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
    except NotADirectoryError as error:
        raise DevctlError(
            f"`{readable(part)}` in `{readable(folder)}` is a link or a file here, and has to"
            " be a folder; nothing here was changed",
            "rename it, or choose another folder",
        ) from error
