"""Ages and lengths of time, as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
_SHORT = 120
"""Seconds below which only seconds are given."""
_NEAR = 10
"""The count of a unit from which the smaller unit is left out."""


def now() -> datetime:
    """The present, from which ages count."""
    return datetime.now(UTC)


def age(moment: datetime | None, at: datetime | None = None) -> str:
    """How long ago something was, for a cell of a table.

    >>> age(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 5, tzinfo=UTC))
    '5m'
    """
    return "" if moment is None else span((at or now()) - moment)


def left(moment: datetime | None, at: datetime | None = None) -> str:
    """How soon something will be, for a cell of a table.

    >>> left(datetime(2026, 1, 1, 8, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC))
    'in 8h'
    """
    if moment is None:
        return ""
    length = moment - (at or now())
    return f"in {span(length)}" if length > timedelta(0) else "now"


def until(moment: datetime, at: datetime | None = None) -> str:
    """How soon something will be, and when, for a sentence.

    >>> until(datetime(2026, 1, 1, 8, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC))
    'in 8h (2026-01-01 08:00 UTC)'
    """
    return f"{left(moment, at)} ({clock(moment)})"


def clock(moment: datetime) -> str:
    """A time of day, for a sentence.

    >>> clock(datetime(2026, 1, 1, 8, tzinfo=UTC))
    '2026-01-01 08:00 UTC'
    """
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def span(length: timedelta) -> str:
    """A length of time in at most two units; the second only where it matters.

    >>> span(timedelta(seconds=90)), span(timedelta(hours=49)), span(timedelta(days=40, hours=3))
    ('90s', '2d1h', '40d')
    """
    total = max(0, int(length.total_seconds()))
    if total < _SHORT:
        return f"{total}s"
    for (unit, size), (next_unit, next_size) in pairwise(_UNITS):
        count, rest = divmod(total, size)
        if count:
            more = rest // next_size
            return f"{count}{unit}{more}{next_unit}" if more and count < _NEAR else f"{count}{unit}"
    return f"{total}s"
