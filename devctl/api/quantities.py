"""Amounts of resources as Kubernetes writes them: `500m`, `8`, `16Gi`, `1e3`."""

from __future__ import annotations

import re
from decimal import Decimal

GPU = "nvidia.com/gpu"
"""The resource of NVIDIA's device plugin."""

_PATTERN = re.compile(
    r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)(n|u|m|k|[KMGTPE]i|[MGTPE])?", re.ASCII
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = "KMGTPE"


def parse_quantity(value: float | str) -> Decimal:
    """The number that a quantity stands for; raises ValueError if it is not a quantity.

    >>> parse_quantity("500m"), parse_quantity("2Ki"), parse_quantity(8)
    (Decimal('0.500'), Decimal('2048'), Decimal('8'))
    """
    match = _PATTERN.fullmatch(str(value))
    if match is None:
        raise ValueError(f"`{value}` is not a quantity: write for example `8`, `500m` or `16Gi`")
    number, unit = Decimal(match[1]), match[2] or ""
    if unit.endswith("i"):
        return number * Decimal(1024) ** (_BINARY.index(unit[0]) + 1)
    return number.scaleb(_DECIMAL[unit])


def times(value: float | str, count: int) -> str:
    """A quantity as often as that, in its own unit.

    >>> times("500m", 3), times("1.5Gi", 2), times(8, 4)
    ('1500m', '3Gi', '32')

    Raises:
        ValueError: The value is not a quantity.
    """
    parse_quantity(value)
    text = str(value)
    number = text.rstrip("numkKMGTPEi")
    return f"{(Decimal(number) * count).normalize():f}{text[len(number) :]}"


def larger(there: str | None, wanted: str) -> str:
    """The larger of two sizes, or the present one if they are equal: claims cannot shrink.

    >>> larger("1024Mi", "1Gi"), larger("1Gi", "2Gi"), larger(None, "1Gi")
    ('1024Mi', '2Gi', '1Gi')
    """
    return there if there and parse_quantity(there) >= parse_quantity(wanted) else wanted
