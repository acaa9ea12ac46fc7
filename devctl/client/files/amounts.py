"""How many files, and of how many bytes, in words."""

from __future__ import annotations

_STEP = 1000


def amount(size: float) -> str:
    """A number of bytes for a person.

    >>> amount(5), amount(34_000), amount(1_250_000)
    ('5 B', '34 KB', '1.2 MB')
    """
    value, unit = float(size), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if value < _STEP - 0.5:
            break
        value, unit = value / _STEP, larger
    short = unit == "B" or value >= 9.95  # noqa: PLR2004 - two digits say enough
    return f"{value:.0f} {unit}" if short else f"{value:.1f} {unit}"


def sent(files: int, size: int) -> str:
    """What was sent.

    >>> sent(1, 5), sent(2, 34_000)
    ('1 file, 5 B sent', '2 files, 34 KB sent')
    """
    return f"{files:,} file{'' if files == 1 else 's'}, {amount(size)} sent"
