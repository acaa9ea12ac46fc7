"""Amounts that are used, as cells of a table; `?` for what is unknown."""

from __future__ import annotations

_KIB = 1024


def cpus(count: float | None) -> str:
    """A number of CPUs.

    >>> cpus(None), cpus(2), cpus(0.504)
    ('?', '2', '0.5')
    """
    return "?" if count is None else f"{count:.2f}".rstrip("0").rstrip(".")


def cpus_of(count: float | None, most: float | None) -> str:
    """How many CPUs are busy, of how many.

    >>> cpus_of(0.5, 2), cpus_of(None, None)
    ('0.5 of 2', '?')
    """
    return _of(cpus(count), cpus(most))


def bytes_of(used: int | None, most: int | None) -> str:
    """How many bytes are used, of how many.

    >>> bytes_of(512, 1024), bytes_of(None, 1024), bytes_of(512, None)
    ('512 of 1Ki (50%)', '? of 1Ki', '512')
    """
    text = _of(size(used), size(most))
    return f"{text} ({used / most:.0%})" if used is not None and most else text


def size(count: int | None) -> str:
    """A number of bytes, in the units of flavors and homes.

    >>> size(None), size(0), size(1536 * 1024), size(64 * 1024**3)
    ('?', '0', '1.5Mi', '64Gi')
    """
    if count is None:
        return "?"
    amount, unit = float(count), ""
    for bigger in ("Ki", "Mi", "Gi", "Ti"):
        if amount < _KIB:
            break
        amount, unit = amount / _KIB, bigger
    return f"{amount:.1f}".removesuffix(".0") + unit


def part(used: float | None, most: float | None) -> float | None:
    """The part that is used, for a graph; None if that is unknown.

    >>> part(1, 2), part(1, 0), part(None, 2)
    (0.5, None, None)
    """
    return used / most if used is not None and most else None


def _of(used: str, most: str) -> str:
    return f"{used} of {most}" if most != "?" else used
