from __future__ import annotations

import doctest
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightkube.utils.quantity import parse_quantity as their_parse_quantity

from devctl.api import quantities
from devctl.api.quantities import parse_quantity, written


def test_its_examples_hold() -> None:
    assert doctest.testmod(quantities).failed == 0


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", "1"),
        ("-1.5", "-1.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1e3", "1000"),
        ("12E-1", "1.2"),
        ("100n", "1e-7"),
        ("3u", "3e-6"),
        ("250m", "0.25"),
        ("2k", "2000"),
        ("1E", "1e18"),
        ("1Ei", "1152921504606846976"),
        (0.1, "0.1"),
        (8, "8"),
    ],
)
def test_quantities(text: float | str, number: str) -> None:
    assert parse_quantity(text) == Decimal(number)


@pytest.mark.parametrize("text", ["", "m", "1 Gi", "1gi", "1K", "1ki", "٣", "1e9999", "1\n", "NaN"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(text)


@given(
    st.integers(-(10**6), 10**6),
    st.sampled_from(["", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]),
)
def test_it_reads_as_others_do(number: int, unit: str) -> None:
    text = f"{number}{unit}"
    assert parse_quantity(text) == their_parse_quantity(text)


@given(st.text(max_size=20))
def test_any_text_is_a_number_or_refused(text: str) -> None:
    try:
        assert parse_quantity(text).is_finite()
    except ValueError as error:
        assert "is not a quantity" in str(error)  # noqa: PT017 - any text may be refused


@pytest.mark.parametrize(
    ("amount", "binary", "text"),
    [
        ("0", True, "0"),
        ("1023", True, "1023"),
        ("1024", True, "1Ki"),
        ("1024", False, "1024"),
        ("1610612736", True, "1536Mi"),
        ("0.25", False, "250m"),
        ("1e-7", False, "100n"),
        ("1e-12", False, "1n"),
        ("0.5", True, "500m"),
    ],
)
def test_an_amount_as_a_quantity(amount: str, text: str, *, binary: bool) -> None:
    assert written(Decimal(amount), binary=binary) == text


@given(st.decimals(0, 10**15, places=9), st.booleans())
def test_a_quantity_is_the_whole_amount(amount: Decimal, binary: bool) -> None:  # noqa: FBT001 - drawn
    assert parse_quantity(written(amount, binary=binary)) == amount
