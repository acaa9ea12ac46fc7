"""Files from a pod, unpacked into a folder of their own; the pod is not trusted."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, NoReturn

from devctl.client.files.amounts import amount
from devctl.client.files.beneath import beneath
from devctl.client.files.dotgit import within_git
from devctl.client.files.members import Members
from devctl.client.files.names import check_name, link_problem, readable
from devctl.errors import DevctlError, HostError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from devctl.client.files.beneath import Beneath
    from devctl.client.files.members import Member

MEMBERS = 500_000
"""How many files a pod may send at once."""
_PIECE = 1 << 18
_LATEST = 1 << 33
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


class Unpacking:
    """What comes from a pod, put below a folder that nobody else writes to.

    Attributes:
        files: The names of files and links that are there.
        folders: Names of empty folders that are to be there.
        left_out: What we do not take, each with why.
    """

    def __init__(
        self,
        arrived: Path,
        room: int,
        wanted: frozenset[str],
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Take nothing yet.

        Args:
            arrived: The folder.
            room: How many bytes there may be.
            wanted: The names that were asked for; others are not taken.
            progress: Takes the number of bytes that have just come.
        """
        self._arrived, self._room, self._wanted = arrived, room, wanted
        self._progress = progress
        self._seen: dict[str, str] = {}
        self._links: dict[str, str] = {}
        self.folders: list[str] = []
        self.left_out: list[str] = []

    @property
    def files(self) -> list[str]:
        """The names of files and links that are there."""
        return [name for name, kind in self._seen.items() if kind]

    def take(self, pieces: Iterator[bytes]) -> None:
        """Unpack archives.

        Raises:
            DevctlError: They hold what no honest pod sends, or are cut off, or there is no room.
        """
        members = Members(pieces)
        try:
            with beneath(self._arrived) as here:
                for member in members:
                    if member.kind != "folder":
                        self._take(here, members, member)
                # Once everything else is there, nothing can be written through a link.
                for name, target in self._links.items():
                    here.symlink(target, name)
        except OSError as error:
            _failed(error)

    def _take(self, here: Beneath, members: Members, member: Member) -> None:
        name = member.name.removeprefix("./")
        check_name(name)
        if name not in self._wanted:
            _refuse(f"`{readable(name)}`, which nobody has asked it for")
        if name in self._seen:
            _refuse(f"`{readable(name)}` twice")
        if member.kind == "link":
            inside = "leads into a git repository" if within_git(member.target) else ""
            why = link_problem(name, member.target) or inside
            self._seen[name] = "" if why else "link"
            if why:
                self.left_out.append(f"`{readable(name)}`: this link {why}")
            else:
                self._links[name] = member.target
            return
        self._seen[name] = "file"
        content = members.read()
        if member.kind == "hard link":
            origin = member.target.removeprefix("./")
            if self._seen.get(origin) != "file" or origin == name:
                _refuse(f"`{readable(name)}`, a link to a file that it has not sent")
            content = _pieces(here.file(origin, os.O_RDONLY))
        self._write(here.file(name, _NEW), content, member)

    def _write(self, descriptor: int, content: Iterator[bytes], member: Member) -> None:
        try:
            for piece in content:
                self._room -= len(piece)
                if self._room < 0:
                    raise HostError(
                        "there is no room here for what the pod sends; nothing here was changed",
                        "free space, or fetch less at once",
                    )
                rest = memoryview(piece)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
                if self._progress:
                    self._progress(len(piece))
            # Nobody else gets to write to it, and it never runs as anybody else.
            umask = os.umask(0o077)
            os.umask(umask)
            os.fchmod(descriptor, (member.mode & 0o755 | 0o600) & ~umask)
            mtime = min(max(member.mtime, 0), _LATEST)
            os.utime(descriptor, (mtime, mtime))
        finally:
            os.close(descriptor)


def _pieces(descriptor: int) -> Iterator[bytes]:
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        while piece := file.read(_PIECE):
            yield piece


def _refuse(what: str) -> NoReturn:
    raise DevctlError(
        f"the pod sent {what}; nothing was taken",
        "look at what runs in it: no honest `tar` does that here",
    )


def _failed(error: OSError) -> NoReturn:
    full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    raise HostError(
        f"the files cannot be kept here: {error.strerror}; nothing here was changed",
        "free space, or choose another folder" if full else "choose another folder",
    ) from error


def enough(room: int, size: int) -> None:
    """See that there is room for so many bytes.

    Raises:
        HostError: There is not.
    """
    if size > room:
        raise HostError(
            f"there is room for {amount(room)} here, and these files have {amount(size)}",
            "free space, or fetch less at once",
        )
