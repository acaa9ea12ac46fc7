"""Tar archives: written for any `tar` while they are sent, and read from pods without trust.

Python's own reader keeps the whole content of a long name or an extended header, whatever size is
announced. This one never keeps more than a small header. It knows what `tar` programs write: POSIX
headers, GNU's long names, pax.
"""

from __future__ import annotations

import io
import os
import re
import stat
import tarfile
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any, cast

from devctl.client.files.local import open_plain
from devctl.client.files.names import hostile
from devctl.errors import DevctlError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from devctl.client.files.local import Entry

BROKEN = "broken"
"""The last list of an archive: what is not to be taken. Without it an archive is incomplete."""
_PIECE = 256 * 1024
_PERMISSIONS = 0o777
BLOCK = 512
END = b".".ljust(BLOCK)
"""What follows the last of the archives that come one after the other."""
_LONGEST = 1 << 16
"""Bytes of the longest name or pax header that is read."""
_LARGEST = 1 << 62
_TAKEN = {tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE}
_TAKEN |= {tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE}
_PAX = {tarfile.XHDTYPE, tarfile.XGLTYPE}
_OTHERS = {
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}
_SIZE = re.compile(rb"\d{1,18}")
_RECORD = re.compile(rb"(\d{1,6}) ([^=]*)=")
_NO_ARCHIVE = "something that is not an archive"


def pack(  # noqa: PLR0913 - each is a choice of the caller
    send: Callable[[bytes], None],
    root: Path,
    entries: Iterable[Entry],
    lists: Mapping[str, Iterable[str]],
    rename: Callable[[str], str] = str,
    *,
    digests: dict[str, str] | None = None,
) -> list[str]:
    """Send an archive of files and lists of names, as devctl.client.files.remote.receive takes it.

    A file that has changed since it became an entry, or changes while it is read, is marked in the
    archive, so that it is not taken; the names of all such files are returned. `rename` gives a
    path's name in the archive; `digests` is filled with the SHA-256 of each file as it was sent.
    """
    changed, broken = [], []
    with tarfile.open(
        mode="w|",
        # It only ever writes.
        fileobj=cast("Any", SimpleNamespace(write=send)),
        bufsize=_PIECE,
        # Every tar reads GNU's long names, and busybox's no others.
        format=tarfile.GNU_FORMAT,
        encoding="utf-8",
        errors="surrogateescape",
    ) as tar:
        for name, names in lists.items():
            _add_list(tar, name, names)
        for found in entries:
            sent = add(tar, root, found, f"files/{rename(found.path)}", digests)
            if not sent:
                changed.append(found.path)
            if sent is False:
                broken.append(rename(found.path))
        _add_list(tar, BROKEN, broken)
    return changed


@dataclass
class Exactly:
    """Exactly the announced number of a file's bytes, whatever happens to it meanwhile."""

    opened: io.FileIO
    left: int
    seen: Callable[[bytes], None] | None
    short: bool = False

    def read(self, wanted: int) -> bytes:
        """As tarfile asks for it."""
        data = b""
        wanted = min(wanted, self.left)
        if not self.short:
            with suppress(OSError):
                data = self.opened.read(wanted)
        self.short |= len(data) < wanted
        self.left -= wanted
        if self.seen:
            self.seen(data)
        # Filled up, so that the other files arrive.
        return data.ljust(wanted, b"\0")


def add(
    tar: tarfile.TarFile, root: Path, found: Entry, name: str, digests: dict[str, str] | None
) -> bool | None:
    """Add a file to an archive by a name; None if it was left out, False if it changed meanwhile.

    `digests`, if given, gets the SHA-256 of what was added.
    """
    info = tarfile.TarInfo(name)
    info.mode = stat.S_IMODE(found.mode) & _PERMISSIONS
    info.mtime = found.mtime
    if stat.S_ISDIR(found.mode) or stat.S_ISLNK(found.mode):
        info.type = tarfile.SYMTYPE if stat.S_ISLNK(found.mode) else tarfile.DIRTYPE
        info.linkname = found.target
        tar.addfile(info)
        return True
    try:
        opened = open_plain(root / found.path)
    except OSError:
        return None
    with opened:
        if not _same(opened, found):
            return None
        info.size = found.size
        digest = sha256()
        content = Exactly(opened, info.size, None if digests is None else digest.update)
        tar.addfile(info, cast("IO[bytes]", content))
        if digests is not None:
            digests[found.path] = digest.hexdigest()
        return not content.short and _same(opened, found)


def _same(opened: io.FileIO, found: Entry) -> bool:
    now = os.fstat(opened.fileno())
    return (now.st_size, now.st_mtime_ns) == (found.size, found.changed)


def _add_list(tar: tarfile.TarFile, name: str, names: Iterable[str]) -> None:
    content = as_input(names)
    info = tarfile.TarInfo(f"lists/{name}")
    info.size, info.mode = len(content), 0o600
    tar.addfile(info, io.BytesIO(content))


def as_input(names: Iterable[str]) -> bytes:
    """Names as scripts read them: `./` in front, so that none is an option, and a NUL behind."""
    return b"".join(b"./" + os.fsencode(name) + b"\0" for name in names)


@dataclass
class Members:
    """The members of archives that come one after the other, up to END.

    The content of each can be read until the next one is asked for.
    """

    pieces: Iterator[bytes]
    _held: bytes = b""
    _left: int = 0
    _padding: int = 0

    def __iter__(self) -> Iterator[tarfile.TarInfo]:
        """The header of each, none of which has been checked except for its type.

        DevctlError for what is not an archive, is cut off, or is hostile.
        """
        long_name = long_target = ""
        pax: dict[str, str] = {}
        while True:
            self._skip()
            header = self._exactly(BLOCK)
            if header == END:
                return
            if not header.strip(b"\0"):
                continue  # an archive's end; another one may follow
            member = _parsed(header)
            if member.type in {tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, *_PAX}:
                content = self._small(member.size)
                if member.type == tarfile.GNUTYPE_LONGNAME:
                    long_name = os.fsdecode(content.rstrip(b"\0"))
                elif member.type == tarfile.GNUTYPE_LONGLINK:
                    long_target = os.fsdecode(content.rstrip(b"\0"))
                elif member.type == tarfile.XHDTYPE:
                    pax = _records(content)
                continue
            if member.type not in _TAKEN:
                what = _OTHERS.get(member.type, "something unknown")
                raise hostile(f"{what} in place of a file")
            member.name = pax.get("path", long_name or member.name)
            member.linkname = pax.get("linkpath", long_target or member.linkname)
            size = int(pax.get("size", member.size))
            self._left = size if member.isreg() else 0
            self._padding = -self._left % BLOCK
            long_name = long_target = ""
            pax = {}
            yield member

    def read(self) -> Iterator[bytes]:
        """The content of the latest member."""
        while self._left:
            piece = self._some(self._left)
            self._left -= len(piece)
            yield piece

    def _skip(self) -> None:
        for _ in self.read():
            pass
        while self._padding:
            self._padding -= len(self._some(self._padding))

    def _small(self, size: int) -> bytes:
        if size > _LONGEST:
            raise hostile(f"a header of {size:,} bytes")
        return self._exactly(size + -size % BLOCK)[:size]

    def _exactly(self, size: int) -> bytes:
        content = bytearray()
        while len(content) < size:
            content += self._some(size - len(content))
        return bytes(content)

    def _some(self, most: int) -> bytes:
        """Some bytes, at least one."""
        if not self._held:
            self._held = next((piece for piece in self.pieces if piece), b"")
        if not self._held:
            raise DevctlError(
                "the files did not arrive as a whole; nothing here was changed",
                "repeat the command",
            )
        piece, self._held = self._held[:most], self._held[most:]
        return piece


def _parsed(header: bytes) -> tarfile.TarInfo:
    try:
        member = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        raise hostile(_NO_ARCHIVE) from error
    if not 0 <= member.size <= _LARGEST:
        raise hostile("an invalid size")
    if header[257:263] != b"ustar\0":
        # GNU's own format keeps times where POSIX has the beginning of a long name.
        member.name = os.fsdecode(header[:100].partition(b"\0")[0])
    return member


def _records(content: bytes) -> dict[str, str]:
    """The records of a pax header."""
    found = {}
    while content:
        begun = _RECORD.match(content)
        size = int(begun[1]) if begun else 0
        record, content = content[:size], content[size:]
        if not begun or len(record) != size or not record[begun.end() :].endswith(b"\n"):
            raise hostile(_NO_ARCHIVE)
        key = begun[2].decode(errors="replace")
        if key.startswith("GNU.sparse"):
            raise hostile("a sparse file in place of a file")
        value = record[begun.end() : -1]
        if key == "size" and not _SIZE.fullmatch(value):
            raise hostile("an invalid size")
        found[key] = os.fsdecode(value)
    return found
