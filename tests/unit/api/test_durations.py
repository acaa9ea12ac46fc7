from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.durations import parse_duration


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(60, 60), ("90m", 5400), ("1d12h", 129600), ("1h1s", 3601), ("0s", 0)],
)
def test_durations(value: int | str, seconds: int) -> None:
    assert parse_duration(value) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "value", ["", "1", "m", "1s1m", "-5m", "1.5h", "٣m", "99999999d99999999h "]
)
def test_what_is_no_duration(value: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(value)


@given(st.integers(0, 10**8 - 1), st.integers(0, 10**8 - 1))
def test_any_size_of_duration_is_told(days: int, hours: int) -> None:
    # Python's timedelta ends at a billion days less one.
    assert parse_duration(f"{days}d{hours}h") == timedelta(days=days, hours=hours)


@pytest.mark.parametrize("value", ["99999999d99999999h99999999m99999999s", 10**15, -(10**15)])
def test_what_no_calendar_holds_is_no_duration_either(value: int | str) -> None:
    if value == "99999999d99999999h99999999m99999999s":
        assert parse_duration(value) < timedelta.max
        return
    with pytest.raises(ValueError, match="is too long"):
        parse_duration(value)
