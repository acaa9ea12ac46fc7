"""Money as text and as integers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.prices import (
    MICRO,
    NO_PRICE,
    Price,
    in_cents,
    parse_amount,
    read_price,
    rounded,
    write_amount,
)

AMOUNTS = st.integers(0, 10**15 - 1)


@given(AMOUNTS)
def test_text_and_integer_are_the_same_amount(millionths: int) -> None:
    text = write_amount(millionths)
    assert parse_amount(text) == millionths
    assert Decimal(text) * MICRO == millionths
    assert len(text.partition(".")[2]) >= 2


@given(st.decimals(0, 10**9 - 1, places=6))
def test_any_decimal_is_read_exactly(amount: Decimal) -> None:
    assert parse_amount(f"{amount:f}") == int(amount * MICRO)


@pytest.mark.parametrize(
    "text", ["", "-1", "1,20", "1.2345678", "1e3", "1.", ".5", "٣", "1000000000000000", "NaN", " 1"]
)
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an amount"):
        parse_amount(text)


@given(st.integers(0, 10**25))
def test_a_cost_is_rounded_once_and_halves_up(cost: int) -> None:
    assert abs(rounded(cost) - Fraction(cost, 3600)) <= Fraction(1, 2)
    assert rounded(cost * 3600) == cost
    assert rounded(cost * 3600 + 1800) == cost + 1


@given(AMOUNTS)
def test_cents_are_the_nearest(millionths: int) -> None:
    assert abs(parse_amount(in_cents(millionths)) - millionths) <= 5000


def test_a_pod_and_each_gpu_have_a_price() -> None:
    price = read_price({"perHour": 1, "perGPUHour": "2.50"})
    assert price == Price(1_000_000, 2_500_000, "USD")
    assert rounded(price.cost(3600, 2 * 3600)) == 6_000_000
    assert read_price(None) == read_price({}) == NO_PRICE
