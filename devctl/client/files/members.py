"""Archives from a pod, taken apart without trust: nothing in one makes us keep more than a header.

Python's own reader keeps a long name's or a further header's whole content, however large it is
announced. This one knows what `tar` programs write: POSIX headers, GNU's long names, pax.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from devctl.errors import DevctlError

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 512
END = b".".ljust(BLOCK)
"""What stands behind the last of the archives that come one after the other."""
_LONGEST = 1 << 16
"""How long a name or a pax header may be, in bytes."""
_LARGEST = 1 << 62
_KINDS = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",
    b"1": "hard link",
    b"2": "link",
    b"5": "folder",
}
_OTHERS = {b"3": "a device", b"4": "a device", b"6": "a pipe", b"S": "a sparse file"}


class Member(NamedTuple):
    """What an archive says of one of its members, before its content.

    Attributes:
        name: Its name, as it is told.
        kind: `file`, `link`, `hard link` or `folder`.
        mode: Its permissions.
        size: How many bytes of content follow.
        mtime: When it was changed, in seconds.
        target: Where a link leads.
    """

    name: str
    kind: str
    mode: int
    size: int
    mtime: int
    target: str


class Members:
    """The members of archives that come one after the other, up to END.

    The content of each has to be read, or skipped, before the next one is asked for.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        """Read nothing yet."""
        self._pieces = pieces
        self._held = b""
        self._left = 0
        self._padding = 0

    def __iter__(self) -> Iterator[Member]:
        """Each member.

        Raises:
            DevctlError: What comes is not an archive, is cut off, or holds what no home holds.
        """
        long_name = long_target = None
        pax: dict[str, bytes] = {}
        while True:
            self._skip()
            header = self._block()
            if header == END:
                return
            if not header.strip(b"\0"):
                continue  # an archive's end; there may be another one behind it
            _verify(header)
            kind, size = header[156:157], _number(header[124:136])
            if size < 0:
                _refuse("a size that is none")
            if kind in {b"L", b"K", b"x", b"g"}:
                content = self._small(size)
                if kind == b"L":
                    long_name = content.rstrip(b"\0")
                elif kind == b"K":
                    long_target = content.rstrip(b"\0")
                elif kind == b"x":
                    pax = _records(content)
                continue
            name = pax.get("path", long_name or _short_name(header))
            target = pax.get("linkpath", long_target or header[157:257].partition(b"\0")[0])
            size = _decimal(pax["size"]) if "size" in pax else size
            long_name = long_target = None
            pax = {}
            yield self._member(header, kind, size, name, target)

    def read(self) -> Iterator[bytes]:
        """The content of the member that was had last."""
        while self._left:
            piece = self._some(self._left)
            self._left -= len(piece)
            yield piece

    def _member(self, header: bytes, kind: bytes, size: int, name: bytes, target: bytes) -> Member:
        if kind not in _KINDS:
            what = _OTHERS.get(kind, "something unknown")
            _refuse(f"{what} in place of a file")
        found = _KINDS[kind]
        if found != "file":
            size = 0
        self._left, self._padding = size, -size % BLOCK
        return Member(
            os.fsdecode(name),
            found,
            _number(header[100:108]) & 0o777,
            size,
            _number(header[136:148]),
            os.fsdecode(target),
        )

    def _skip(self) -> None:
        for _ in self.read():
            pass
        while self._padding:
            self._padding -= len(self._some(self._padding))

    def _small(self, size: int) -> bytes:
        if size > _LONGEST:
            _refuse(f"a header of {size:,} bytes")
        content = bytearray()
        while len(content) < size + -size % BLOCK:
            content += self._some(size + -size % BLOCK - len(content))
        return bytes(content[:size])

    def _some(self, most: int) -> bytes:
        """Some bytes, at least one."""
        if not self._held:
            self._held = next((piece for piece in self._pieces if piece), b"")
        if not self._held:
            raise DevctlError(
                "the files did not arrive as a whole; nothing here was changed",
                "repeat the command",
            )
        piece, self._held = self._held[:most], self._held[most:]
        return piece

    def _block(self) -> bytes:
        block = b""
        while len(block) < BLOCK:
            block += self._some(BLOCK - len(block))
        return block


def _refuse(what: str) -> NoReturn:
    raise DevctlError(
        f"the pod sent {what}; nothing was taken",
        "look at what runs in it: no honest `tar` does that here",
    )


def _verify(header: bytes) -> None:
    told = _number(header[148:156])
    blank = header[:148] + b" " * 8 + header[156:]
    if told != sum(blank):
        _refuse("what is not an archive")


def _number(digits: bytes) -> int:
    if digits[0] in {0x80, 0xFF}:
        signed = digits[0] == 0xFF  # noqa: PLR2004 - as GNU writes what is below zero
        value = int.from_bytes(digits[1:], "big")
        value -= 256 ** (len(digits) - 1) if signed else 0
    else:
        text = digits.partition(b"\0")[0].strip(b" ") or b"0"
        if not all(0x30 <= digit <= 0x37 for digit in text):  # noqa: PLR2004 - 0 to 7
            _refuse("what is not an archive")
        value = int(text, 8)
    if value > _LARGEST:
        _refuse("what is not an archive")
    return value


def _decimal(text: bytes) -> int:
    if not text.isdigit() or len(text) > 18:  # noqa: PLR2004 - less than _LARGEST
        _refuse("a size that is none")
    return int(text)


def _short_name(header: bytes) -> bytes:
    name = header[:100].partition(b"\0")[0]
    # GNU's own format keeps times where POSIX has the front of a long name.
    prefix = header[345:500].partition(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _records(content: bytes) -> dict[str, bytes]:
    """The records of a pax header."""
    found = {}
    while content:
        length, space, _ = content.partition(b" ")
        if not space or not length.isdigit() or len(length) > 6:  # noqa: PLR2004 - of 64 KiB
            _refuse("what is not an archive")
        size = int(length)
        record, content = content[:size], content[size:]
        key, equals, value = record[len(length) + 1 :].partition(b"=")
        if len(record) != size or not equals or not value.endswith(b"\n"):
            _refuse("what is not an archive")
        if key.startswith(b"GNU.sparse"):
            _refuse("a sparse file in place of a file")
        found[key.decode(errors="replace")] = value[:-1]
    return found
