"""Files from a pod, which is not trusted: fetched into a staging folder, then moved to their place.

All of them arrive, or none: nothing is moved until everything is here and checked.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tarfile import TarInfo
from typing import TYPE_CHECKING

from devctl.client.files import remote
from devctl.client.files.archive import Members
from devctl.client.files.ignore import INCOMING
from devctl.client.files.local import Beneath
from devctl.client.files.names import check_name, hostile, link_problem, named, within_git
from devctl.client.files.transfer import amount, expect
from devctl.errors import DeniedError, DevctlError, HostError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from io import FileIO

    from devctl.client.files.remote import Place
    from devctl.client.files.transfer import Progress

    MayReplace = Callable[[str, os.stat_result], bool]

_STALE = 3600.0
_SPARE = 16 << 20
"""Bytes of a disk that a pod may not fill."""
_PIECE = 1 << 18
_LATEST = 1 << 33


@contextmanager
def incoming(target: Path) -> Iterator[Path]:
    """A staging folder inside a target folder, so on the same disk; removed afterwards."""
    _remove_stale(target)
    try:
        folder = tempfile.TemporaryDirectory(
            prefix=INCOMING, dir=target, ignore_cleanup_errors=True
        )
    except OSError as error:
        raise DeniedError(
            f"cannot write into `{target}`: {error.strerror}", "choose another folder"
        ) from error
    with folder as name:
        yield Path(name)


@contextmanager
def target_folder(target: Path) -> Iterator[Path]:
    """A target folder, created if needed, and removed again if nothing arrives in it.

    If it stayed, the same command would mean a folder inside it the next time.
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


def fetch(
    place: Place, sizes: Mapping[str, int], arrived: Path, progress: Progress | None = None
) -> tuple[Unpacking, list[str]]:
    """Fetch files and links of a folder, given their sizes, into a staging folder.

    Also returns what `tar` said about files that it could not read. DevctlError if there is no
    room, or the pod sent what no well-behaved one does.
    """
    unpacking = prepare(sizes, arrived, progress)
    return unpacking, remote.fetch(place, list(sizes), unpacking.take) if sizes else []


def prepare(sizes: Mapping[str, int], arrived: Path, progress: Progress | None = None) -> Unpacking:
    """Expect files in a staging folder, given their sizes; HostError if there is no room."""
    space, size = room(arrived), sum(sizes.values())
    if size > space:
        raise HostError(
            f"there is room for {amount(space)} here, and these files have {amount(size)}",
            "free space, or fetch less at once",
        )
    expect(progress, sizes.values())
    return Unpacking(arrived, space, frozenset(sizes), progress)


def _remove_stale(target: Path) -> None:
    """Remove staging folders of ours that were last written to more than an hour ago."""
    with suppress(OSError):
        for folder in list(target.glob(f"{INCOMING}*")):
            about = folder.lstat()
            if stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid():
                # A file's mtime may be that of its origin.
                last = max(each.lstat().st_ctime for each in (folder, *folder.rglob("*")))
                if time.time() - last > _STALE:
                    shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Unpacking:
    """Archives from a pod, unpacked into a folder that nobody else writes to.

    `folders` are empty ones to create in the end; `left_out` is what was not taken, with reasons.
    """

    arrived: Path
    room: int
    """Bytes that may still come."""
    wanted: frozenset[str]
    progress: Progress | None = None
    _seen: dict[str, str] = field(default_factory=dict)
    _links: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        """The names of the files and links that were unpacked."""
        return [name for name, kind in self._seen.items() if kind]

    @property
    def size(self) -> int:
        """Their bytes."""
        return sum((self.arrived / name).lstat().st_size for name in self.files)

    def take(self, pieces: Iterator[bytes]) -> None:
        """Unpack archives; DevctlError if they are hostile, cut off or too large."""
        members = Members(pieces)
        with _kept(), Beneath(self.arrived) as here:
            for member in members:
                if not member.isdir():
                    self._take(here, members, member)
            # They come last, so that nothing can be written through a link.
            for name, target in self._links.items():
                here.symlink(target, name)

    def take_file(self, name: str, content: Iterator[bytes], changed_at: float) -> None:
        """Keep one file that comes by itself, changed so many seconds after 1970."""
        self._check(name)
        self._seen[name] = "file"
        about = TarInfo(name)
        about.mtime = int(changed_at)
        with _kept(), Beneath(self.arrived) as here:
            self._write(here.create(name), content, about)

    def _check(self, name: str) -> None:
        check_name(name)
        if name not in self.wanted:
            raise hostile(f"`{readable(name)}`, which nobody has asked it for")
        if name in self._seen:
            raise hostile(f"`{readable(name)}` twice")

    def _take(self, here: Beneath, members: Members, member: TarInfo) -> None:
        name = member.name.removeprefix("./")
        self._check(name)
        if member.issym():
            inside = "leads into a git repository" if within_git(member.linkname) else ""
            why = link_problem(name, member.linkname) or inside
            self._seen[name] = "" if why else "link"
            if why:
                self.left_out.append(f"`{readable(name)}`: this link {why}")
            else:
                self._links[name] = member.linkname
            return
        self._seen[name] = "file"
        content = members.read()
        if member.islnk():
            origin = member.linkname.removeprefix("./")
            if self._seen.get(origin) != "file" or origin == name:
                raise hostile(f"`{readable(name)}`, a link to a file that it has not sent")
            content = _pieces(here.read(origin))
        self._write(here.create(name), content, member)

    def _write(self, file: FileIO, content: Iterator[bytes], member: TarInfo) -> None:
        with file:
            for piece in content:
                self.room -= len(piece)
                if self.room < 0:
                    raise HostError(
                        "there is no room here for what the pod sends; nothing here was changed",
                        "free space, or fetch less at once",
                    )
                rest = memoryview(piece)
                while rest:
                    rest = rest[os.write(file.fileno(), rest) :]
                if self.progress:
                    self.progress(len(piece))
            # Only its owner may write to it, and it is never set-user-ID.
            umask = os.umask(0o077)
            os.umask(umask)
            os.fchmod(file.fileno(), (member.mode & 0o755 | 0o600) & ~umask)
            mtime = min(max(member.mtime, 0), _LATEST)
            os.utime(file.fileno(), (mtime, mtime))


@contextmanager
def _kept() -> Iterator[None]:
    """Say what to do if files cannot be written here."""
    try:
        yield
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        raise HostError(
            f"the files cannot be kept here: {error.strerror}; nothing here was changed",
            "free space, or choose another folder" if full else "choose another folder",
        ) from error


def _pieces(file: FileIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE):
            yield piece


def put_folder(
    source: Path,
    target: Path,
    unpacking: Unpacking,
    *,
    may_replace: MayReplace = lambda _name, _there: False,
    fix: str = "move it away, or choose another folder",
) -> None:
    """Move what has been unpacked from the staging folder to its target.

    `may_replace` decides about a file that differs, by its current state. If it may not be
    replaced, or something is in the way, a DevctlError suggests the fix, and nothing has changed.
    """
    with Beneath(source) as come, Beneath(target) as here:
        moves = _moves(come, here, unpacking.files, may_replace, fix)
        name = ""
        try:
            for name in unpacking.folders:
                here.parent(f"{name}/.")
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
    """The files to move: those that are not here already as they have come."""
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
            "rename one of them",
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
    with suppress(OSError), come.read(name) as one, here.read(name) as other:
        return all(piece == other.read(_PIECE) for piece in _pieces(one))
    return False
