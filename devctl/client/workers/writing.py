"""How paths, parameters and headers are written, and read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from urllib.parse import quote

from devctl.errors import UsageError

Query = Mapping[str, str | int | bool | datetime | None]
"""Parameters of a request by name; those that are None are left out."""


def part(name: str) -> str:
    """A name as a part of a path.

    >>> part("a/../b")
    'a%2F..%2Fb'

    Raises:
        UsageError: It is empty, or dots, which lead elsewhere.
    """
    if not name.strip("."):
        raise UsageError(f"`{name}` is not an ID", "give the ID that a list shows")
    return quote(name, safe="")


def whole(path: str) -> str:
    """A path of several parts, as the end of one.

    >>> whole("a b/c.txt")
    'a%20b/c.txt'

    Raises:
        UsageError: A part of it is empty, or dots, which lead elsewhere.
    """
    return "/".join(part(name) for name in path.split("/"))


def given(query: Query | None) -> dict[str, str]:
    """The parameters that have a value."""
    return {name: _text(value) for name, value in (query or {}).items() if value is not None}


def _text(value: str | int | datetime) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else str(value)


def seconds(text: str) -> float:
    """What Retry-After says in seconds; 0 if it says something else.

    >>> seconds("3"), seconds("Wed, 21 Oct 2026 07:28:00 GMT"), seconds("-1")
    (3.0, 0.0, 0.0)
    """
    return float(text) if text.isascii() and text.isdecimal() else 0.0
