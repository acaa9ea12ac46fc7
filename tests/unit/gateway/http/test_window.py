"""A minute that moves on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from devctl_gateway.http import window
from devctl_gateway.http.window import MINUTE, Window
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    import pytest


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_it_is_full_until_the_first_one_is_a_minute_old() -> None:
    clock = Clock()
    one = Window(2, clock)
    assert not one.is_full("a")
    one.count("a")
    clock.now += 20
    one.count("a")
    assert one.is_full("a")
    assert not one.is_full("b")
    assert one.wait("a") == MINUTE - 20
    clock.now += one.wait("a") - 1
    assert one.is_full("a")
    clock.now += 1
    assert not one.is_full("a")
    assert one.wait("b") == 0


def test_one_that_lets_nobody_pass_is_full_at_once() -> None:
    one = Window(0)
    assert one.is_full("a")
    one.count("a")
    assert one.is_full("a")


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 40)), max_size=40), st.integers(1, 4))
def test_in_no_minute_more_pass_than_may(asked: list[tuple[str, float]], most: int) -> None:
    clock, passed = Clock(), list[tuple[str, float]]()
    one = Window(most, clock)
    for name, pause in asked:
        clock.now += pause
        recent = Counter(who for who, at in passed if at > clock.now - MINUTE)
        assert one.is_full(name) == (recent[name] >= most)
        if not one.is_full(name):
            one.count(name)
            passed.append((name, clock.now))


def test_names_that_have_not_come_for_a_minute_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "_CROWD", 5)
    clock = Clock()
    one = Window(3, clock)
    for number in range(5):
        one.count(f"old-{number}")
    clock.now += MINUTE - 1
    one.count("recent")
    assert len(one) == 6
    clock.now += 1
    one.count("new")
    assert len(one) == 2
