"""Frequent requests result in occasional runs."""

from __future__ import annotations

import asyncio

from devctl_observer.kinds.flavors.family import Pace


def play(pace: float, *waits: float) -> list[float]:
    """When the action runs, if requested after each of these waits; on a fake clock."""
    loop = asyncio.new_event_loop()
    now, done = 0.0, list[float]()
    loop.time = lambda: now  # type: ignore[method-assign]

    async def wishes() -> None:
        nonlocal now
        it = Pace(lambda: done.append(now), pace)
        for wait in waits:
            now += wait
            for _ in range(100):
                it.wish()
            # Due actions run within an iteration or two.
            for _ in range(3):
                await asyncio.sleep(0)

    loop.run_until_complete(wishes())
    loop.close()
    return done


def test_the_first_of_a_burst_is_heard_at_once_and_the_last_in_time() -> None:
    assert play(5, 1) == [1]
    assert play(5, 1, 1, 1, 3, 0.5, 4.5) == [1, 6, 11]
    # After a pause it runs at once again.
    assert play(5, 1, 20, 1) == [1, 21]
    assert len(play(5, *[0.1] * 200)) == 4
