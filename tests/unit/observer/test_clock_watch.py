"""A clock that was set has every deadline looked at anew."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from devctl_observer import clock_watch
from devctl_observer.clock_watch import ClockWatch

from unit.observer.running import until

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
