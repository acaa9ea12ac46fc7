"""Text that others wrote, for people who read reports and logs."""

from __future__ import annotations

from devctl.api.node_cache import MAX_MESSAGE

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP = 1024


def clean(text: str, limit: int = MAX_MESSAGE) -> str:
    """Text without control characters, and shortened.

    >>> clean("a" + chr(27) + "[2Jb")
    'a?[2Jb'
    """
    # Bounded first, since the text may be long.
    shown = "".join(each if each.isprintable() else "?" for each in text[: limit + 1])
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def size(length: int) -> str:
    """A number of bytes for people.

    >>> size(1536), size(7)
    ('1.5 KiB', '7 B')
    """
    value, unit = float(length), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{length} B"
