"""A role whose obstacle may disappear without a notification is retried."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from devctl_observer.control.process import Clock
from devctl_observer.control.retries import FIRST, LONGEST, Since, attempts, blocked

from unit.observer.objects import ago, server
from unit.observer.test_controllers import KEY, Controllers, filled


def said(reason: str, generation: int = 3) -> dict[str, Any]:
    told = {"type": "Applied", "status": "False", "reason": reason, "message": "it is there"}
    return {"conditions": [told | {"observedGeneration": generation}]}


def test_attempts_are_further_and_further_apart_and_go_on() -> None:
    moments, now = [], 0.0
    while now < 600:
        _, wait = attempts(now)
        assert 0 < wait <= LONGEST
        moments.append(now := now + wait)
    assert moments[:6] == [5, 15, 35, 75, 135, 195]
    assert [attempts(moment)[0] for moment in moments] == list(range(1, len(moments) + 1))
    # A process that was frozen does not catch up on missed attempts.
    assert attempts(86_400)[0] == attempts(86_400 - LONGEST)[0] + 1


@pytest.mark.parametrize("reason", ["Invalid", "QuotaExceeded", "Unavailable"])
def test_other_reasons_are_waited_for_otherwise(reason: str) -> None:
    assert not blocked(server(said(reason)))


def test_what_is_said_of_an_earlier_spec_or_of_what_goes_is_in_nobodys_way() -> None:
    assert blocked(server(said("Conflict")))
    assert not blocked(server(said("Conflict", 2)))
    assert not blocked(server(said("Conflict"), {"deletionTimestamp": ago(seconds=1)}))


def test_another_reason_is_waited_for_from_its_own_beginning() -> None:
    now = [0.0]
    since = Since(lambda: now[0])
    found = []
    for now[0], what in ((0, "a"), (7, "a"), (8, "b"), (9, "b"), (10, ""), (11, "b")):
        found.append(since.seconds(KEY, what))
    assert found == [0, 7, 0, 1, 0, 0]
    since.forget(KEY)
    assert since.seconds(KEY, "b") == 0


@pytest.mark.parametrize("reason", ["Conflict", "Terminating"])
def test_a_server_is_tried_again_for_as_long_as_the_reason_stays(reason: str) -> None:
    caches, cluster, _ = filled()
    now = [0.0]
    controllers = Controllers(caches, cluster, Clock(steady=lambda: now[0]))
    caches.servers.put(KEY, 100, server(said(reason)))
    seen = []
    for _ in range(8):
        wait = asyncio.run(controllers.server(KEY))
        assert wait is not None
        # Reconciling it meanwhile changes nothing.
        asyncio.run(controllers.server(KEY))
        seen.append((now[0], len(set(cluster.woken))))
        now[0] += wait
    assert seen[:5] == [(0, 0), (FIRST, 1), (15, 2), (35, 3), (75, 4)]
    assert seen[-1] == (75 + 3 * LONGEST, 7)
    assert len(cluster.woken) == 7
    # A new process starts over, and its first attempt has a new value.
    again = Controllers(caches, cluster, Clock(steady=lambda: now[0]))
    assert asyncio.run(again.server(KEY)) == FIRST
    now[0] += FIRST
    asyncio.run(again.server(KEY))
    assert len(set(cluster.woken)) == 8
