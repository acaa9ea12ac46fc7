"""Times, as answers have them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BeforeValidator

_DATED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]")


def in_utc(at: datetime) -> datetime:
    """A time of a table, which has no zone, with the one that it is meant in.

    >>> in_utc(datetime(2025, 1, 2, 3, 4, 5)).isoformat()
    '2025-01-02T03:04:05+00:00'
    """
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def plain(at: datetime) -> datetime:
    """A time with a zone, as tables have it: without one, and in UTC.

    >>> plain(datetime.fromisoformat("2025-01-02T03:04:05+01:00")).isoformat()
    '2025-01-02T02:04:05'

    Raises:
        ValueError: No calendar of ours has it.
    """
    try:
        return at.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        raise ValueError("in UTC, it is not in the years 1 to 9999") from None


def dated(text: object) -> object:
    """A text that begins with a date: seconds since 1970 are none of RFC 3339's times.

    Raises:
        ValueError: It does not.
    """
    if isinstance(text, str) and not _DATED.match(text):
        raise ValueError("not a date and a time, such as 2025-01-02T03:04:05Z")
    return text


Time = Annotated[datetime, AfterValidator(in_utc)]
"""RFC 3339, such as `2025-01-02T03:04:05Z`."""

Moment = Annotated[AwareDatetime, BeforeValidator(dated), AfterValidator(plain)]
"""A time that somebody asks for: RFC 3339, with a zone."""
