"""A step of the clock has every deadline checked again."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from devctl_observer.watching import clock_watch
from devctl_observer.watching.clock_watch import ClockWatch

from unit.observer.running import idle_observer, until

if TYPE_CHECKING:
    import pytest


def test_steps_are_noticed_and_nothing_else() -> None:
    wall, steady, told = 1000.0, 50.0, [0]

    def count() -> None:
        told[0] += 1

    watch = ClockWatch(count, wall=lambda: wall, steady=lambda: steady)
    watch.look()
    wall, steady = wall + 60, steady + 60
    watch.look()
    wall, steady = wall + 5.4, steady + 5
    watch.look()
    assert told == [0]
    for step in (3600, -3600, 1.5):
        wall += step
        watch.look()
        watch.look()
    assert told == [3]


def test_it_looks_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_watch, "PAUSE", 0)
    told: list[int] = []
    ticks = iter(range(10**9))
    watch = ClockWatch(lambda: told.append(1), wall=lambda: next(ticks) * 10.0, steady=lambda: 0.0)
    asyncio.run(until(watch.run(), lambda: len(told) > 2))


def test_an_observer_watches_the_clock_for_each_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadline that has moved closer must not wait for its old timer."""
    monkeypatch.setattr(clock_watch, "PAUSE", 0)
    told: set[str] = set()
    one = idle_observer()
    for family in one.families:
        monkeypatch.setattr(family, "look_again", partial(told.add, family.controller.word))
    clock, ticks = one._clock, count(step=60.0)  # noqa: SLF001
    monkeypatch.setattr(clock, "wall", lambda: next(ticks))
    asyncio.run(until(clock.run(), lambda: len(told) == len(one.families)))
