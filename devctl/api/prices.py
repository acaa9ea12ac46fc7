"""Prices and costs: decimal text outside, integers inside, so that no sum depends on rounding.

The unit of money is a millionth of its currency. A cost is kept in seconds x millionths per hour,
3600 of which are a millionth, and divided by 3600 once, when its sum is shown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

MICRO = 1_000_000
"""Millionths in one unit of a currency."""
HOUR = 3600
"""Seconds in the hour that a price is for."""
CURRENCY = "USD"
"""The currency of a price that names none."""

_AMOUNT = re.compile(r"(\d{1,12})(?:\.(\d{1,6}))?", re.ASCII)
_CENTS = 2


class Price(NamedTuple):
    """What an hour costs, in millionths."""

    per_hour: int = 0
    """Of a pod."""
    per_gpu_hour: int = 0
    """Of each of its GPUs, in addition."""
    currency: str = ""
    """Empty if there is no price, which is not the same as a price of 0."""

    def cost(self, seconds: int, gpu_seconds: int) -> int:
        """The cost of a time, in seconds x millionths per hour: exact."""
        return seconds * self.per_hour + gpu_seconds * self.per_gpu_hour


NO_PRICE = Price()
"""Of what has no price."""


def parse_amount(value: int | str) -> int:
    """An amount of money in millionths.

    >>> parse_amount("1.20"), parse_amount(3), parse_amount("0.000001")
    (1200000, 3000000, 1)

    Raises:
        ValueError: It is not a decimal number with at most 12 digits and 6 decimals.
    """
    found = _AMOUNT.fullmatch(str(value))
    if found is None:
        raise ValueError(
            f"`{value}` is not an amount: write for example `12` or `1.20`, with at most 6 decimals"
        )
    return int(found[1]) * MICRO + int((found[2] or "").ljust(6, "0"))


def write_amount(millionths: int) -> str:
    """An amount as text, exact, with two decimals at least.

    >>> write_amount(1200000), write_amount(1), write_amount(-500000)
    ('1.20', '0.000001', '-0.50')
    """
    units, rest = divmod(abs(millionths), MICRO)
    decimals = f"{rest:06}".rstrip("0").ljust(_CENTS, "0")
    return f"{'-' if millionths < 0 else ''}{units}.{decimals}"


def in_cents(millionths: int) -> str:
    """An amount for people, to the nearest hundredth.

    >>> in_cents(1_234_999), in_cents(1_235_000), in_cents(0)
    ('1.23', '1.24', '0.00')
    """
    cent = MICRO // 100
    return write_amount((millionths + cent // 2) // cent * cent)


def rounded(cost: int) -> int:
    """A cost, in seconds x millionths per hour, in millionths; halves are rounded up.

    >>> rounded(1799), rounded(1800), rounded(3600)
    (0, 1, 1)
    """
    return (cost + HOUR // 2) // HOUR


def read_price(spec: Mapping[str, Any] | None) -> Price:
    """The price in a flavor's spec.price; NO_PRICE if it has none.

    >>> read_price({"perHour": "1.20", "currency": "EUR"})
    Price(per_hour=1200000, per_gpu_hour=0, currency='EUR')

    Raises:
        ValueError: An amount is none.
    """
    if not spec:
        return NO_PRICE
    per_hour, per_gpu_hour = (parse_amount(spec.get(name, 0)) for name in ("perHour", "perGPUHour"))
    return Price(per_hour, per_gpu_hour, spec.get("currency", CURRENCY))
