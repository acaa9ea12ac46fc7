"""Durations as the kinds take them: seconds, or text such as `90m` or `1d12h`."""

from __future__ import annotations

import re
from datetime import timedelta

_PATTERN = re.compile(r"(?:(\d{1,8})d)?(?:(\d{1,8})h)?(?:(\d{1,8})m)?(?:(\d{1,8})s)?", re.ASCII)


def parse_duration(value: int | str) -> timedelta:
    """The duration that a field holds.

    Raises:
        ValueError: The value is neither seconds nor such a text, or too long for a timedelta.
    """
    if isinstance(value, str):
        match = _PATTERN.fullmatch(value)
        if match is None or not value:
            raise ValueError(f"`{value}` is not a duration: write seconds, or `90m`, `1d12h`")
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    else:
        days, hours, minutes, seconds = 0, 0, 0, value
    try:
        return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError as error:
        raise ValueError(f"`{value}` is too long") from error
