"""Lists in pages: by what the last row had, so that new rows neither repeat nor hide others."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query

from devctl_gateway.http.problems import Problem

DEFAULT_LIMIT, MAX_LIMIT = 50, 200
_LONGEST = 2048
_GREATEST = 2**63 - 1
"""Of a database's integers."""
Row = TypeVar("Row")
Value = str | int | datetime


def encode_cursor(values: Sequence[Value]) -> str:
    """An opaque text for where the next page begins.

    Args:
        values: What the last row is sorted by; times without a zone.
    """
    text = json.dumps(
        list(values), separators=(",", ":"), ensure_ascii=False, default=datetime.isoformat
    )
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def decode_cursor(text: str, *kinds: type) -> tuple[Any, ...]:
    """What a cursor was made of.

    Args:
        text: What a client has sent.
        kinds: The types that there should be, in order; none for any.

    Raises:
        Problem: It is no such cursor; 422.
    """
    try:
        values = _decode(text)
        if not kinds:
            return tuple(values)
        return tuple(_as(kind, each) for kind, each in zip(kinds, values, strict=True))
    except (ValueError, RecursionError, binascii.Error):
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "Invalid cursor",
            "`cursor` is not one that this list has answered: begin without one",
        ) from None


def _as(kind: type, value: str | int) -> Value:
    """A value of a cursor as what it was."""
    if kind is datetime and isinstance(value, str):
        at = datetime.fromisoformat(value)
        if at.tzinfo is None:
            return at
    elif type(value) is kind:
        return value
    raise ValueError("of another type")


def _decode(text: str) -> list[str | int]:
    if len(text) > _LONGEST:
        raise ValueError("too long")
    raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), b"-_", validate=True)
    values = json.loads(raw)
    if not isinstance(values, list) or not all(_storable(each) for each in values):
        raise ValueError("not values of rows")
    return values


def _storable(value: object) -> bool:
    """Whether a database can compare with it."""
    if isinstance(value, str):
        return value.isprintable()  # which surrogates are not
    return type(value) is int and abs(value) <= _GREATEST


@dataclass(frozen=True)
class PageRequest:
    """Which page is asked for.

    Attributes:
        limit: Rows at most.
        cursor: From the page before; empty for the first.
    """

    limit: int
    cursor: str = ""

    def after(self, *kinds: type) -> tuple[Any, ...] | None:
        """What the last row of the page before was sorted by; None for the first page.

        Raises:
            Problem: The cursor is not of this list; 422.
        """
        return decode_cursor(self.cursor, *kinds) if self.cursor else None

    def after_time(self) -> tuple[datetime, str] | None:
        """The same, of a list that is sorted by a time and an ID."""
        found = self.after(datetime, str)
        return found and (found[0], found[1])


# Not a plain function, which would run in a thread, and that takes longer than all of it.
async def _page(
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Items at most.")] = DEFAULT_LIMIT,
    cursor: Annotated[
        str,
        Query(
            max_length=_LONGEST,
            description="The `next_cursor` of the page before.",
        ),
    ] = "",
) -> PageRequest:
    return PageRequest(limit, cursor)


Page = Annotated[PageRequest, Depends(_page)]
"""The parameters `limit` and `cursor` of an endpoint."""


def next_cursor(
    rows: Sequence[Row], limit: int, values: Callable[[Row], Sequence[Value]]
) -> str | None:
    """The cursor of the page after one; None if it was the last.

    Args:
        rows: As found with a limit of one more.
        limit: How many are shown.
        values: What a row is sorted by.
    """
    return encode_cursor(values(rows[limit - 1])) if len(rows) > limit else None
