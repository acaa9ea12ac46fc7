"""What a run costs: exact, rounded once, and never less for more."""

from __future__ import annotations

import doctest
from fractions import Fraction
from typing import TYPE_CHECKING

from devctl_gateway.billing import charges as module
from devctl_gateway.billing import runs
from devctl_gateway.billing.charges import GIGABYTE, HOUR, KINDS, Held, Price, charges
from hypothesis import given
from hypothesis import strategies as st
from support.gateway_billing import job, moment, run

if TYPE_CHECKING:
    from typing import Any

SECONDS = st.integers(0, 604_800)
HELD = st.builds(Held, st.integers(0, 8), st.integers(1, 1024), st.integers(16, 2**26))
PRICE = st.builds(Price, *[st.integers(0, 10**12)] * 3)


def amounts(seconds: int, held: Held, price: Price) -> list[int]:
    return [charge.amount for charge in charges(seconds, held, price)]


def test_examples() -> None:
    for each in (module, runs):
        assert doctest.testmod(each).failed == 0


def test_all_kinds_are_lines_even_if_they_are_free() -> None:
    assert [each.kind for each in charges(0, Held(0, 1, 16), Price())] == list(KINDS)


@given(SECONDS, HELD, PRICE)
def test_each_line_is_within_half_a_micro_unit_of_the_exact_cost(
    seconds: int, held: Held, price: Price
) -> None:
    exact = (
        Fraction(seconds * held.gpus * price.gpu_hour, HOUR),
        Fraction(seconds * held.cores * price.core_hour, HOUR),
        Fraction(seconds * held.megabytes * price.gigabyte_hour, HOUR * GIGABYTE),
    )
    for amount, wanted in zip(amounts(seconds, held, price), exact, strict=True):
        assert -Fraction(1, 2) < amount - wanted <= Fraction(1, 2)


@given(SECONDS, SECONDS, HELD, PRICE)
def test_a_longer_run_never_costs_less(one: int, more: int, held: Held, price: Price) -> None:
    shorter, longer = amounts(one, held, price), amounts(one + more, held, price)
    assert all(a <= b for a, b in zip(shorter, longer, strict=True))


@given(st.integers(max_value=0), HELD, PRICE)
def test_time_that_runs_backwards_costs_nothing(seconds: int, held: Held, price: Price) -> None:
    assert amounts(seconds, held, price) == [0, 0, 0]


@given(SECONDS, SECONDS, HELD, PRICE)
def test_two_runs_cost_what_one_as_long_does_but_for_rounding(
    one: int, other: int, held: Held, price: Price
) -> None:
    apart = zip(amounts(one, held, price), amounts(other, held, price), strict=True)
    for parts, whole in zip(apart, amounts(one + other, held, price), strict=True):
        assert abs(sum(parts) - whole) <= 1


@given(st.integers(-100, 10**6), st.integers(0, 10**5), st.integers(1, 604_800))
def test_a_run_that_goes_on_lasts_ever_longer_until_its_time_is_up(
    now: int, more: int, timeout: int
) -> None:
    one: dict[str, Any] = job("job-1", run("a", 0)) | {"spec": {"timeoutSeconds": timeout}}
    first, later = (runs.open_runs(one, moment(at))[0].seconds for at in (now, now + more))
    assert 0 <= first <= later <= timeout
    assert first == max(0, min(now, timeout))
