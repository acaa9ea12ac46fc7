"""Which bytes of a file are asked for: the header Range (RFC 9110, section 14)."""

from __future__ import annotations

import re
from typing import NamedTuple

_ONE = re.compile(r"bytes=(?:(?P<first>[0-9]{1,18})-(?P<last>[0-9]{0,18})|-(?P<end>[0-9]{1,18}))")


class Range(NamedTuple):
    """Bytes of a file; none if it has no such bytes."""

    start: int
    length: int


def range_of(header: str, size: int) -> Range | None:
    """The bytes that are asked for; None for all of them.

    As the standard has it, a header that makes no sense is ignored. So is one with several ranges,
    which servers may do, as these cost more than they are worth.

    >>> range_of("bytes=0-1", 10), range_of("bytes=8-99", 10), range_of("bytes=-3", 10)
    (Range(start=0, length=2), Range(start=8, length=2), Range(start=7, length=3))
    >>> range_of("bytes=10-", 10), range_of("bytes=2-1", 10)
    (Range(start=10, length=0), None)
    """
    found = _ONE.fullmatch(header.strip())
    if not found:
        return None
    if found["end"]:
        length = min(int(found["end"]), size)
        return Range(size - length, length)
    first = int(found["first"])
    last = int(found["last"]) if found["last"] else size
    if last < first:
        # Without an end, it only begins after the file's.
        return None if found["last"] else Range(first, 0)
    return Range(first, max(0, min(last + 1, size) - first))
