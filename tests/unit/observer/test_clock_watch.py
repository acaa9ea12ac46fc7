"""A clock that was set has every deadline looked at anew."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from devctl_observer import clock_watch, observer
from devctl_observer.clock_watch import ClockWatch
from devctl_observer.observer import Observer

from unit.observer.running import until

if TYPE_CHECKING:
    import pytest
    from lightkube import AsyncClient


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
    """A deadline that a set clock has brought nearer must not wait for the timer of before."""
    monkeypatch.setattr(clock_watch, "PAUSE", 0)
    monkeypatch.setattr(observer, "ClusterApi", lambda *_: None)
    told: list[int] = []

    class Family:
        first = others = queues = ()

        def __init__(self, number: int) -> None:
            self._number = number

        def metrics(self) -> list[str]:
            return []

        def look_again(self) -> None:
            told.append(self._number)

    async def play() -> None:
        one = Observer(cast("AsyncClient", None), bool)
        one.families = [cast("Any", Family(1)), cast("Any", Family(2))]
        monkeypatch.setattr(one, "_shared", list)
        ticks = count(step=60.0)
        monkeypatch.setattr(one._clock, "_wall", lambda: next(ticks))  # noqa: SLF001
        await until(one.run(), lambda: len(told) > 3)

    asyncio.run(play())
    assert told[:4] == [1, 2, 1, 2]
