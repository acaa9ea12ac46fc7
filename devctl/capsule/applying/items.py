"""What a target is made of."""

from __future__ import annotations

import hashlib
from typing import IO, TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE = 1 << 20
FILE, PROGRAM, LINK = 0o100644, 0o100755, 0o120000


class Item(NamedTuple):
    """A file or link of the target: an object of the commit, or else of the capsule."""

    mode: int
    oid: str = ""
    sha256: str = ""
    size: int = -1
    target: bytes = b""


def object_hash(oid: str, kind: str, size: int) -> Any:
    """What hashes an object of git's, given how long its names are here."""
    begun = f"{kind} {size}\0".encode()
    if len(oid) == hashlib.sha256().digest_size * 2:
        return hashlib.sha256(begun)
    return hashlib.sha1(begun, usedforsecurity=False)


def pieces(file: IO[bytes]) -> Iterator[bytes]:
    """What is in a file, piece by piece."""
    return iter(lambda: file.read(PIECE), b"")
