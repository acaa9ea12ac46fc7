"""Downloads of single files: resumed by Range, bounded, and checked.

What came of a file that was cut off is kept, and the next try goes on after it.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
from typing import TYPE_CHECKING, Protocol

from devctl_cache_agent.problems import CacheError, NoRoomError
from devctl_cache_agent.text import size

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from devctl_cache_agent.fetching import Answer
    from devctl_cache_agent.hub import File

_PIECE = 1 << 20
_WINDOW, _LEAST = 60.0, 60_000
"""In so many seconds come so many bytes at least, as for git."""
_WORDS = {
    401: "it needs a token, in the Secret `hf-token`",
    403: "the token of the Secret `hf-token` may not read it",
    404: "the hub has no such model, revision or file",
    429: "the hub asks to come later",
}


class Gets(Protocol):
    """Where files come from."""

    def get(self, path: str, start: int = 0) -> AbstractContextManager[Answer]:
        """Ask for something, from a byte on."""


class Pace:
    """Gives up a server that sends next to nothing, which would hold up everything else.

    Args:
        clock: The monotonic clock.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin."""
        self._clock, self._since, self._count = clock, clock(), 0

    def came(self, count: int) -> None:
        """So many bytes came.

        Raises:
            CacheError: Too few of them in a while.
        """
        self._count += count
        now = self._clock()
        if now < self._since + _WINDOW:
            return
        if self._count < _LEAST:
            raise CacheError("the server is too slow; it goes on later")
        self._since, self._count = now, 0


class Downloads:
    """Fetches files.

    Args:
        web: Where they come from.
        clock: The monotonic clock.
    """

    def __init__(self, web: Gets, clock: Callable[[], float]) -> None:
        """Have fetched nothing yet."""
        self._web, self._clock = web, clock

    def text(self, where: str, most: int) -> bytes:
        """A short answer, of so many bytes at most.

        Raises:
            CacheError: There is none.
        """
        with self._web.get(where) as answer:
            _check(answer, {http.client.OK})
            return _read(answer, most, Pace(self._clock))

    def file(self, where: str, file: File, part: Path, told: Callable[[int], None]) -> None:
        """Fetch what is missing of a file.

        Args:
            where: Its path at the server.
            file: What it is to be.
            part: Where it is written.
            told: Called with the bytes that are there by now; what it raises ends the download.

        Raises:
            CacheError: It is not whole, or not what the hub says.
        """
        try:
            self._append(where, file, part, told)
        except OSError as error:
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                raise NoRoomError("the disk is full") from error
            raise CacheError(f"{file.path!r}: {type(error).__name__}") from error
        except http.client.HTTPException as error:
            raise CacheError(f"{file.path!r} was cut off; it goes on from there") from error

    def _append(self, where: str, file: File, part: Path, told: Callable[[int], None]) -> None:
        with part.open("ab") as target:
            there = target.tell()
            if there > file.length:
                target.truncate(0)
                there = 0
            if there < file.length:
                pace = Pace(self._clock)
                with self._web.get(where, there) as answer:
                    _check(answer, {http.client.OK, http.client.PARTIAL_CONTENT})
                    if answer.status == http.client.OK and there:
                        # It does not know ranges, and begins again.
                        target.truncate(0)
                        there = 0
                    elif there and not _begins_at(answer, there):
                        raise CacheError(f"{file.path!r}: the server sends another range")
                    while piece := answer.read1(_PIECE):
                        there += len(piece)
                        pace.came(len(piece))
                        if there > file.length:
                            break
                        target.write(piece)
                        told(there)
            target.flush()
            os.fsync(target.fileno())
        if there < file.length:
            raise CacheError(
                f"{file.path!r} was cut off at {size(there)} of {size(file.length)}; it goes on"
            )
        if there > file.length or not _is_right(part, file):
            part.unlink()
            raise CacheError(f"{file.path!r} is not what the hub says: its checksum differs")


def _check(answer: Answer, good: set[int]) -> None:
    if answer.status not in good:
        raise CacheError(_WORDS.get(answer.status, f"the hub answers HTTP {answer.status}"))


def _read(answer: Answer, most: int, pace: Pace) -> bytes:
    data = b""
    try:
        while len(data) <= most and (piece := answer.read1(_PIECE)):
            data += piece
            pace.came(len(piece))
    except (OSError, http.client.HTTPException) as error:
        raise CacheError(f"the hub's answer was cut off: {type(error).__name__}") from error
    if len(data) > most:
        raise CacheError("the hub's answer is too long")
    return data


def _begins_at(answer: Answer, start: int) -> bool:
    return (answer.getheader("Content-Range") or "").startswith(f"bytes {start}-")


def _is_right(part: Path, file: File) -> bool:
    """Whether a file has the checksum that the hub gives."""
    if file.sha256:
        found = hashlib.sha256()
    else:
        # As git does.
        found = hashlib.sha1(f"blob {file.length}\0".encode(), usedforsecurity=False)
    with part.open("rb") as source:
        while piece := source.read(_PIECE):
            found.update(piece)
    return found.hexdigest() == (file.sha256 or file.blob)
