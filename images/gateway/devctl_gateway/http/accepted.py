"""What a client likes best: the header Accept."""

from __future__ import annotations

import re
from collections.abc import Mapping

_QUALITY = re.compile(r"q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")


def preferred(header: str, formats: Mapping[str, str]) -> str:
    """The format that a client likes best; the first one if it does not say.

    >>> preferred("text/csv, */*;q=0.1", {"application/json": "json", "text/csv": "csv"})
    'csv'

    Args:
        header: The header Accept; what is no media range in it counts for nothing.
        formats: Formats by media type, ours first.
    """
    ranges: dict[str, float] = {}
    for part in header.lower().split(","):
        name, *parameters = (each.strip() for each in part.split(";"))
        found = next(filter(None, map(_QUALITY.fullmatch, parameters)), None)
        ranges[name] = float(found[1]) if found else 1.0
    return formats[max(formats, key=lambda media: _liked(media, ranges))]


def _liked(media: str, ranges: Mapping[str, float]) -> float:
    wider = (media, f"{media.partition('/')[0]}/*", "*/*")
    return next((ranges[name] for name in wider if name in ranges), 0.0)
