"""Nothing is deleted for its age while there is doubt."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
from devctl_observer.control.cluster_api import ClusterApi, Fresh
from devctl_observer.kinds.servers.deadlines import expiry, is_due, next_look
from devctl_observer.kinds.servers.expire import expire
from devctl_observer.kinds.servers.observed import Observed
from devctl_observer.kinds.servers.status import server_status
from hypothesis import given
from hypothesis import strategies as st

from unit.observer.objects import NOW, ago, server
from unit.observer.running import figure

if TYPE_CHECKING:
    from devctl_observer.kinds.servers.model import Server


def lived(
    ttl: Any, created: str | None = None, warned: str | None = ago(days=1), **meta: Any
) -> Server:
    """A server with a creation time, whose owner was warned at `warned`."""
    meta = {"creationTimestamp": created, **meta}
    told = {"type": "Expiring", "status": "True", "lastTransitionTime": warned}
    status = {"conditions": [told]} if warned else {}
    return server(status, meta=meta, lifecycle={"timeToLive": ttl})


@pytest.mark.parametrize(
    ("candidate", "due"),
    [
        (lived(3600, ago(hours=2)), True),
        (lived("1h", ago(hours=1)), True),
        (lived(3600, ago(minutes=59)), False),
        (server(), False),
        (lived(3600, None), False),
        (lived(3600, ago(hours=-5)), False),
        (lived("soon", ago(days=9)), False),
        (lived(0, ago(days=9)), False),
        (lived(-60, ago(days=9)), False),
        (lived("99999999d", ago(days=9)), False),
        (lived(3600, ago(hours=2), deletionTimestamp=ago(seconds=1)), False),
        # Six minutes are the notice of an hour to live.
        (lived(3600, ago(hours=2), ago(minutes=6)), True),
        (lived(3600, ago(hours=2), ago(minutes=5)), False),
        (lived(3600, ago(hours=2), None), False),
        (lived(3600, ago(hours=2), "yesterday"), False),
    ],
)
def test_what_is_due(candidate: Server, due: bool) -> None:  # noqa: FBT001
    assert is_due(candidate, NOW) is due


def test_a_time_that_is_over_at_once_leaves_the_notice() -> None:
    """For example, if `timeToLive` was lowered or no observer ran for a day."""
    late = lived("10h", ago(days=3), warned=None)
    found = server_status(Observed(late), NOW)
    assert found["conditions"][0]["reason"] == "Soon"
    assert found["expiresAt"] == ago(minutes=-54)
    warned = server(found, meta={"creationTimestamp": ago(days=3)}, lifecycle={"timeToLive": "10h"})
    for minutes, due in ((0, False), (53, False), (54, True)):
        assert is_due(warned, NOW + timedelta(minutes=minutes)) is due
    # The stored deadline does not move.
    later = server_status(Observed(warned), NOW + timedelta(minutes=30))
    assert later["expiresAt"] == found["expiresAt"]


def test_one_dissenting_clock_deletes_nothing() -> None:
    old = lived(3600, ago(hours=2))
    assert not is_due(old, NOW, NOW - timedelta(hours=1, seconds=1))
    # Any clock that is before the creation is wrong.
    assert not is_due(old, NOW, NOW - timedelta(hours=3))


@given(
    st.datetimes(timezones=st.just(UTC)),
    st.integers(-10, 10**9),
    st.datetimes(timezones=st.just(UTC)),
)
def test_nothing_is_due_before_its_time(created: datetime, ttl: int, now: datetime) -> None:
    candidate = lived(ttl, created.strftime("%Y-%m-%dT%H:%M:%SZ") if created.year > 1000 else None)
    if is_due(candidate, now):
        assert now - created.replace(microsecond=0) >= timedelta(seconds=ttl) > timedelta(0)


def test_it_looks_again_when_the_notice_begins_and_when_time_is_up() -> None:
    candidate = lived("10h", ago(hours=2))
    deadline = expiry(candidate, NOW)
    assert deadline is not None
    assert next_look(candidate, NOW) == timedelta(hours=7)
    assert next_look(candidate, deadline.notice) == timedelta(hours=1)
    assert next_look(candidate, deadline.at) is None
    assert next_look(server(), NOW) is None


def test_a_clock_that_cannot_be_right_is_looked_at_again() -> None:
    """The clock may be right again without a notification."""
    assert next_look(lived("8h", ago(hours=-5)), NOW) == timedelta(minutes=1)
    assert next_look(server(meta={"creationTimestamp": ago(hours=-5)}), NOW) is None


@pytest.mark.parametrize(
    ("candidate", "status", "reason"),
    [
        (lived("10h", ago(hours=2)), "False", "TimeToLive"),
        (lived("10h", ago(hours=9)), "True", "Soon"),
        (lived("10h", None), "Unknown", "ClockNotTrusted"),
        (lived("10h", ago(hours=-9)), "Unknown", "ClockNotTrusted"),
    ],
)
def test_the_owner_is_told_in_time(candidate: Server, status: str, reason: str) -> None:
    found = server_status(Observed(candidate), NOW)
    entry = found["conditions"][0]
    assert (entry["type"], entry["status"], entry["reason"]) == ("Expiring", status, reason)
    assert ("expiresAt" in found) == (status != "Unknown")


class FakeApi:
    """Returns one stored server, and records deletions."""

    def __init__(self, stored: Server | None, clock: datetime = NOW) -> None:
        self.stored, self.clock = stored, clock
        self.deleted: list[tuple[str, str]] = []
        self.told: list[str] = []

    async def read(self, _kind: Any, _meta: Any) -> Fresh[Server]:
        return Fresh(self.stored, self.clock)

    async def delete(self, _kind: Any, meta: Any) -> bool:
        self.deleted.append((meta.uid, meta.resource_version))
        return True

    async def tell(self, _kind: Any, _meta: Any, _version: str, said: Any) -> None:
        self.told.append(said.reason)


def tried(api: FakeApi, cached: Server) -> bool:
    return asyncio.run(expire(cast("ClusterApi", api), cached, NOW))


def test_an_expired_server_is_deleted_as_it_is_stored_now() -> None:
    api = FakeApi(lived(3600, ago(hours=2), resourceVersion="107"))
    stops = figure("devserver_stops_total", reason="Expired")
    assert tried(api, lived(3600, ago(hours=2)))
    assert api.deleted == [("u-1", "107")]
    assert api.told == ["Expired"]
    assert figure("devserver_stops_total", reason="Expired") == stops + 1


@pytest.mark.parametrize(
    ("stored", "clock"),
    [
        (None, NOW),  # already gone
        (lived(3600, ago(hours=2), uid="u-2"), NOW),  # recreated under the same name
        (lived("9h", ago(hours=2)), NOW),  # extended at the last moment
        (lived(3600, ago(hours=2), deletionTimestamp=ago(seconds=1)), NOW),
        (lived(3600, ago(hours=2)), NOW - timedelta(hours=2)),  # our clock is ahead
    ],
)
def test_what_was_read_again_decides(stored: Server | None, clock: datetime) -> None:
    api = FakeApi(stored, clock)
    assert not tried(api, lived(3600, ago(hours=2)))
    assert api.deleted == []
