"""Amounts of resources as Kubernetes writes them: `500m`, `8`, `16Gi`, `1e3`."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

GPU = "nvidia.com/gpu"
"""The resource of NVIDIA's device plugin."""

GPU_BY_CLAIM = "canhazgpu.com/gpu"
"""The resource for which the scheduler makes a claim (docs/dra.md)."""

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


def gpus_in(amounts: Mapping[str, Any]) -> int:
    """How many GPUs are among amounts of resources, however nodes hand them out.

    >>> gpus_in({"cpu": "500m", GPU: 1, GPU_BY_CLAIM: "2"}), gpus_in({})
    (3, 0)

    Raises:
        ValueError: An amount of GPUs is not a quantity.
    """
    return sum(int(parse_quantity(amounts.get(name, 0))) for name in (GPU, GPU_BY_CLAIM))


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


def written(amount: Decimal, *, binary: bool = False) -> str:
    """An amount as a quantity, in the largest unit of which it is a whole number.

    Args:
        amount: Not negative; what is smaller than a nano is rounded up.
        binary: Whether to use `Ki`, `Mi` and so on for what is large, as for bytes.

    >>> written(Decimal("1.5")), written(Decimal(8)), written(Decimal(0))
    ('1500m', '8', '0')
    >>> written(Decimal(3) * 2**30, binary=True), written(Decimal(10**9), binary=True)
    ('3Gi', '1000000000')
    """
    number, units = amount, iter(["", "m", "u", "n"])
    unit = next(units)
    while number != number.to_integral_value() and unit != "n":
        number, unit = number * 1000, next(units)
    whole = int(number.to_integral_value(ROUND_CEILING))
    if binary and not unit:
        for larger_unit in _BINARY:
            if not whole or whole % 1024:
                break
            whole, unit = whole // 1024, f"{larger_unit}i"
    return f"{whole}{unit}"


def larger(there: str | None, wanted: str) -> str:
    """The larger of two sizes, or the present one if they are equal: claims cannot shrink.

    >>> larger("1024Mi", "1Gi"), larger("1Gi", "2Gi"), larger(None, "1Gi")
    ('1024Mi', '2Gi', '1Gi')
    """
    return there if there and parse_quantity(there) >= parse_quantity(wanted) else wanted
