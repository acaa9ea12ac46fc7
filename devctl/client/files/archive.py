"""Files as an archive that any `tar` unpacks, made while it is sent."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from functools import partial
from hashlib import sha256
from typing import IO, TYPE_CHECKING, Any, cast

from devctl.client.files.content import open_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from devctl.client.files.local import Entry

BROKEN = "broken"
"""The last list of an archive: what is not to be taken. An archive without it is not whole."""
_PIECE = 256 * 1024
_PERMISSIONS = 0o777


def pack(  # noqa: PLR0913 - each is a choice of the caller
    send: Callable[[bytes], None],
    root: Path,
    entries: Iterable[Entry],
    lists: Mapping[str, Iterable[str]],
    rename: Callable[[str], str] = str,
    *,
    digests: dict[str, str] | None = None,
) -> list[str]:
    """Write an archive of files, as devctl.client.files.remote.receive takes it.

    Args:
        send: Takes the archive, piece by piece.
        root: The folder that the files are in.
        entries: The files, links and empty folders, as they were chosen.
        lists: Lists of names that go along.
        rename: A path's name in the archive.
        digests: Where the SHA-256 of each file is written down as it is sent; None for nowhere.

    Returns:
        Names of files that have changed since they were chosen, or while they were read; what the
        archive has of them is not taken.
    """
    changed, broken = [], []
    add = _add if digests is None else partial(_add, digests=digests)
    with tarfile.open(
        mode="w|",
        # It only ever writes.
        fileobj=cast("Any", _Writer(send)),
        bufsize=_PIECE,
        # All of them read GNU's long names; busybox's reads nothing else of the kind.
        format=tarfile.GNU_FORMAT,
        encoding="utf-8",
        errors="surrogateescape",
    ) as tar:
        for name, names in lists.items():
            _add_list(tar, name, names)
        for found in entries:
            sent = add(tar, root, found, f"files/{rename(found.path)}")
            if not sent:
                changed.append(found.path)
            if sent is False:
                broken.append(rename(found.path))
        _add_list(tar, BROKEN, broken)
    return changed


class _Writer:
    """What `tarfile` writes to."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send

    def write(self, data: bytes) -> int:
        self._send(data)
        return len(data)


class _Exactly:
    """As many bytes of a file as were announced, whatever becomes of it meanwhile."""

    def __init__(
        self, opened: IO[bytes], size: int, path: str, seen: Callable[[bytes], None]
    ) -> None:
        self._opened, self._left, self._path = opened, size, path
        self._seen = seen
        self.short = False

    def read(self, wanted: int) -> bytes:
        data = b""
        wanted = min(wanted, self._left)
        if not self.short:
            try:
                data = self._opened.read(wanted)
            except OSError:
                # The rest is filled up, so that the others arrive.
                self.short = True
        self.short |= len(data) < wanted
        self._left -= wanted
        self._seen(data)
        return data.ljust(wanted, b"\0")


def _add(
    tar: tarfile.TarFile,
    root: Path,
    found: Entry,
    name: str,
    digests: dict[str, str] | None = None,
) -> bool | None:
    """Add a file; None where it was left out, False where what was added is not it."""
    info = tarfile.TarInfo(name)
    info.mode = stat.S_IMODE(found.mode) & _PERMISSIONS
    info.mtime = found.mtime
    if stat.S_ISDIR(found.mode):
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
        return True
    if stat.S_ISLNK(found.mode):
        info.type, info.linkname = tarfile.SYMTYPE, found.target
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
        seen = _ignore if digests is None else digest.update
        content = _Exactly(cast("IO[bytes]", opened), info.size, found.path, seen)
        tar.addfile(info, cast("IO[bytes]", content))
        if digests is not None:
            digests[found.path] = digest.hexdigest()
        return not content.short and _same(opened, found)


def _ignore(_data: bytes) -> None:
    """Nobody asked for a digest."""


def _same(opened: io.FileIO, found: Entry) -> bool:
    now = os.fstat(opened.fileno())
    return (now.st_size, now.st_mtime_ns) == (found.size, found.changed)


def _add_list(tar: tarfile.TarFile, name: str, names: Iterable[str]) -> None:
    """Add names, each with a NUL behind it and `./` in front: none is taken for an option."""
    content = b"".join(b"./" + os.fsencode(each) + b"\0" for each in names)
    info = tarfile.TarInfo(f"lists/{name}")
    info.size, info.mode = len(content), 0o600
    tar.addfile(info, io.BytesIO(content))
