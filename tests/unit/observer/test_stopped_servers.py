"""Servers that are deleted once they have been stopped for long enough."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
from devctl_observer.control.cluster_api import ClusterApi, Fresh
from devctl_observer.judging.clocks import to_text
from devctl_observer.kinds.servers.deadlines import Limit, expiry, is_due, next_look
from devctl_observer.kinds.servers.expire import stopped_since
from devctl_observer.kinds.servers.observed import Observed
from devctl_observer.kinds.servers.status import server_status
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.conditions import find
from devctl.api.devserver import Condition
from unit.observer.objects import NOW, ago, pod, server

if TYPE_CHECKING:
    from devctl_observer.kinds.servers.model import Server

DAY = timedelta(days=1)


def said(status: str = "False", since: str | None = None, seen: int = 3) -> list[dict[str, Any]]:
    """The conditions of an earlier status, written at generation `seen`."""
    return [
        {"type": "Expiring", "status": status, "lastTransitionTime": since},
        {"type": "Ready", "status": "False", "observedGeneration": seen},
    ]


def stopped(
    after: Any = "10h", since: str | None = ago(hours=2), *, ttl: Any = None, **status: Any
) -> Server:
    """A server that has been stopped since a time, according to its status."""
    lifecycle = {"deleteAfterStopped": after, "timeToLive": ttl}
    known = {"conditions": said(), "stoppedAt": since, **status}
    return server(known, stopped=True, lifecycle=lifecycle)


def warned(hours: float, **more: Any) -> Server:
    """One whose owner was warned so many hours ago that it is deleted."""
    conditions = said("True", ago(hours=hours))
    return stopped("10h", ago(hours=12), **{"conditions": conditions, **more})


@pytest.mark.parametrize(
    ("candidate", "due"),
    [
        (warned(1), True),
        (warned(0.9), True),
        # An hour is the longest notice; nine tenths of it have to pass.
        (warned(0.89), False),
        (stopped("10h", ago(hours=12)), False),  # not warned yet
        (stopped("10h", None, conditions=said("True", ago(days=1))), False),
        (stopped("10h", ago(hours=-5), conditions=said("True", ago(days=1))), False),
        (stopped(None, ago(days=99), conditions=said("True", ago(days=1))), False),
        (warned(1, stoppedAt="yesterday"), False),
        # Since then it has been started and stopped again, and nobody has seen it.
        (warned(1, conditions=said("True", ago(hours=1), seen=1)), False),
        (warned(1, conditions=said("True", ago(hours=1), seen=2)), True),
    ],
)
def test_what_is_due(candidate: Server, due: bool) -> None:  # noqa: FBT001
    assert is_due(candidate, NOW) is due


def test_a_server_that_was_started_is_not_due() -> None:
    status = warned(1).status
    started = server(status, lifecycle={"deleteAfterStopped": "10h"})
    assert not is_due(started, NOW)
    told = find(server_status(Observed(started), NOW), Condition.EXPIRING)
    assert (told["status"], told["reason"]) == ("False", "NotStopped")
    assert "once it has been stopped for 10h" in told["message"]


def test_one_dissenting_clock_deletes_nothing() -> None:
    assert is_due(warned(1), NOW, NOW)
    for other in (NOW - timedelta(hours=3), NOW - timedelta(days=9)):
        assert not is_due(warned(1), NOW, other)


@given(
    st.integers(-(10**6), 10**8),
    st.integers(60, 31536000),
    st.integers(-(10**6), 10**6),
    st.booleans(),
)
def test_nothing_is_due_before_its_time(since: int, after: int, told: int, live: bool) -> None:  # noqa: FBT001
    at = NOW - timedelta(seconds=since)
    conditions = said("True", to_text(NOW - timedelta(seconds=told)))
    candidate = stopped(after, to_text(at), ttl="365d" if live else None, conditions=conditions)
    if is_due(candidate, NOW):
        assert since >= after
        assert told >= min(3600, after / 10) * 0.9


@pytest.mark.parametrize(
    ("after", "ttl", "limit"),
    [("1h", "9d", Limit.DELETE_AFTER_STOPPED), ("9d", "3h", Limit.TIME_TO_LIVE)],
)
def test_the_earlier_limit_counts(after: str, ttl: str, limit: Limit) -> None:
    found = expiry(stopped(after, ago(minutes=1), ttl=ttl), NOW)
    assert found is not None
    assert found.limit is limit
    status = server_status(Observed(stopped(after, ago(minutes=1), ttl=ttl)), NOW)
    told = find(status, Condition.EXPIRING)
    field = limit[0].lower() + limit[1:]
    assert (told["reason"], f"spec.lifecycle.{field}" in told["message"]) == (limit, True)


def test_a_time_that_was_announced_is_kept_to() -> None:
    """The owner was told of the end of its time to live, and then sets the other limit."""
    conditions = said("True", ago(minutes=50))
    announced = NOW + timedelta(minutes=10)
    late = stopped(
        "10h", ago(days=9), ttl="1d", conditions=conditions, expiresAt=to_text(announced)
    )
    found = expiry(late, NOW)
    assert found is not None
    assert found.at == announced
    # It is sooner only with a notice of its own.
    far = stopped("1h", ago(days=9), ttl="9d", conditions=conditions, expiresAt=ago(hours=-9))
    found = expiry(far, NOW)
    assert found is not None
    assert found.at == NOW + timedelta(minutes=6) * 0.9


def test_a_doubt_about_one_limit_is_one_about_both() -> None:
    odd = stopped("10h", ago(hours=-1), ttl="3h", conditions=said("True", ago(hours=2)))
    assert expiry(odd, NOW) is None
    assert not is_due(odd, NOW)
    assert next_look(odd, NOW) == timedelta(minutes=1)
    told = find(server_status(Observed(odd), NOW), Condition.EXPIRING)
    assert (told["status"], told["reason"]) == ("Unknown", "ClockNotTrusted")


def test_it_looks_again_when_the_notice_begins_and_when_time_is_up() -> None:
    candidate = stopped("10h", ago(hours=2))
    assert next_look(candidate, NOW) == timedelta(hours=7)
    assert next_look(candidate, NOW + timedelta(hours=7)) == timedelta(hours=1)


class FakeApi:
    """Knows the API server's time, and whether it was asked."""

    def __init__(self, clock: datetime) -> None:
        self.clock, self.asked = clock, 0

    async def read(self, _kind: Any, _meta: Any) -> Fresh[Server]:
        self.asked += 1
        return Fresh(None, self.clock)


def since(seen: Observed, clock: datetime = NOW) -> tuple[datetime | None, int]:
    """Since when a server is said to have been stopped, and how often the API server was asked."""
    api = FakeApi(clock)
    return asyncio.run(stopped_since(cast("ClusterApi", api), seen, NOW)), api.asked


def test_it_counts_from_when_its_last_pod_is_gone() -> None:
    new = server(stopped=True)
    assert since(Observed(new, pods=[pod()])) == (None, 0)
    assert since(Observed(server())) == (None, 0)
    assert since(Observed(new)) == (NOW, 1)
    known = stopped(since=ago(days=3))
    assert since(Observed(known)) == (NOW - 3 * DAY, 0)
    status = server_status(Observed(known, stopped=NOW - 3 * DAY), NOW)
    assert status["stoppedAt"] == ago(days=3)
    assert "stoppedAt" not in server_status(Observed(server(known.status)), NOW)


def test_of_two_clocks_the_later_one_counts() -> None:
    new = Observed(server(stopped=True))
    assert since(new, NOW + DAY) == (NOW + DAY, 1)
    assert since(new, NOW - DAY) == (NOW, 1)


def test_what_both_clocks_disprove_is_corrected() -> None:
    ahead = Observed(stopped(since=ago(days=-3)))
    assert since(ahead, NOW + 9 * DAY) == (NOW + 3 * DAY, 1)
    assert since(ahead, NOW) == (NOW, 1)
    assert since(ahead, NOW + DAY) == (NOW + DAY, 1)


def test_a_status_that_is_older_than_the_last_start_is_none_of_this_stop() -> None:
    old = stopped(since=ago(days=9), conditions=said(seen=1))
    assert since(Observed(old)) == (NOW, 1)
