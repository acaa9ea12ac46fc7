"""Servers that are stopped once they have run for long enough."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
from devctl_observer.control.cluster_api import Fresh
from devctl_observer.judging.clocks import to_text
from devctl_observer.kinds.servers.observed import Observed
from devctl_observer.kinds.servers.runtime import is_over, next_end, run_end, run_start
from devctl_observer.kinds.servers.status import server_status
from devctl_observer.kinds.servers.stops import end_run
from devctl_observer.kinds.servers.transitions import transitions
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.conditions import find
from devctl.api.devserver import Condition
from devctl.api.labels import STOPPED_BY, STOPPED_BY_MESSAGE
from unit.observer.objects import NOW, ago, pod, server
from unit.observer.running import figure

if TYPE_CHECKING:
    from datetime import datetime

    from devctl_observer.kinds.servers.model import Server
    from lightkube.resources.core_v1 import Pod

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def ran(since: str | None, *, warned: str | None = None, seen: int = 3, **spec: Any) -> Server:
    """A server that may run for ten hours, and has run since a time, according to its status."""
    status: dict[str, Any] = {
        "conditions": [
            {"type": "Ready", "status": "True", "observedGeneration": seen},
            {
                "type": "RuntimeEnding",
                "status": "True" if warned else "False",
                "lastTransitionTime": warned,
            },
        ]
    }
    status |= {"startedAt": since} if since else {}
    return server(status, **{"lifecycle": {"maxRuntime": "10h"}, **spec})


def accepted(at: str | None, made: str = ago(days=9), **meta: Any) -> Pod:
    """A pod that a node accepted at a time, by the node's clock."""
    return pod(meta={"creationTimestamp": made, **meta}, startTime=at)


@pytest.mark.parametrize(
    ("known", "pods", "start"),
    [
        (None, [], None),
        (None, [accepted(None)], None),
        (None, [accepted(ago(hours=2)), accepted(ago(hours=3))], ago(hours=3)),
        # A pod of this run was replaced.
        (ago(hours=5), [accepted(ago(minutes=1))], ago(hours=5)),
        (ago(hours=5), [], ago(hours=5)),
        (ago(hours=5), [accepted(ago(hours=6))], ago(hours=6)),
        # Clocks of nodes: no pod was accepted before it was made, or is yet to be.
        (None, [accepted(ago(days=99), made=ago(hours=1))], ago()),
        (ago(minutes=5), [accepted(ago(days=99), made=ago(hours=1))], ago(minutes=5)),
        (None, [accepted(ago(days=-9), made=ago(hours=1))], ago()),
        # Our clock was ahead when it was written.
        (ago(days=-9), [accepted(ago(hours=2))], ago(hours=2)),
        (ago(days=-9), [], ago(days=-9)),
        # Our clock is behind now.
        (ago(days=-9), [accepted(ago(days=-8), made=ago(days=-7))], ago(days=-9)),
        (None, [accepted(ago(days=-8), made=ago(days=-7))], None),
        (None, [accepted(ago(hours=2), deletionTimestamp=ago())], None),
    ],
)
def test_when_a_run_began(known: str | None, pods: list[Pod], start: str | None) -> None:
    found = run_start(ran(known), pods, NOW)
    assert (to_text(found) if found else None) == start


def test_each_start_is_a_new_run() -> None:
    pods = [accepted(ago(minutes=1))]
    assert run_start(ran(ago(hours=5), stopped=True), pods, NOW) is None
    # Stopped and started while no observer was running.
    missed = run_start(ran(ago(hours=5), seen=1), pods, NOW)
    assert missed == NOW - timedelta(minutes=1)
    once = run_start(ran(ago(hours=5), seen=2), pods, NOW)
    assert once == NOW - 5 * HOUR, "one change of the spec is not both"


@pytest.mark.parametrize(
    ("candidate", "over"),
    [
        (ran(ago(hours=11), warned=ago(hours=1)), True),
        (ran(ago(hours=11), warned=ago(minutes=54)), True),
        (ran(ago(hours=11), warned=ago(minutes=53)), False),
        (ran(ago(hours=11)), False),
        (ran(ago(hours=9.9), warned=ago(hours=1)), False),
        # Its owner was warned of the end of an earlier run.
        (ran(ago(hours=11), warned=ago(hours=12)), False),
        (ran(None, warned=ago(hours=1)), False),
        (ran(ago(hours=-11), warned=ago(hours=1)), False),
        (ran("some day", warned=ago(hours=1)), False),
        (ran(ago(hours=11), warned=ago(hours=1), stopped=True), False),
        (ran(ago(hours=11), warned=ago(hours=1), seen=1), False),
        (ran(ago(hours=11), warned=ago(hours=1), lifecycle={}), False),
        (ran(ago(hours=11), warned=ago(hours=1), lifecycle={"maxRuntime": "9999d"}), False),
    ],
)
def test_what_is_over(candidate: Server, over: bool) -> None:  # noqa: FBT001
    assert is_over(candidate, NOW) is over


@given(st.integers(-(10**6), 10**8), st.integers(60, 31536000), st.integers(-(10**6), 10**6))
def test_nothing_is_over_before_its_time(since: int, limit: int, told: int) -> None:
    begun, warned = (to_text(NOW - timedelta(seconds=seconds)) for seconds in (since, told))
    if is_over(ran(begun, warned=warned, lifecycle={"maxRuntime": limit}), NOW):
        assert since >= limit
        assert since >= told >= min(3600, limit / 10) * 0.9


def test_one_dissenting_clock_stops_nothing() -> None:
    late = ran(ago(hours=11), warned=ago(hours=1))
    assert is_over(late, NOW, NOW)
    for other in (NOW - 2 * HOUR, NOW - DAY):
        assert not is_over(late, NOW, other)
    assert next_end(ran(ago(hours=-11)), NOW) == timedelta(minutes=1), "it is looked at again"


def test_it_looks_again_when_the_notice_begins_and_when_time_is_up() -> None:
    found = ran(ago(hours=2))
    assert next_end(found, NOW) == 7 * HOUR
    assert next_end(found, NOW + 7 * HOUR) == HOUR
    assert next_end(ran(None), NOW) is None


def told(candidate: Server, *pods: Pod) -> tuple[dict[str, Any], dict[str, Any]]:
    """Its status, and what that says about the end of its run."""
    status = server_status(Observed(candidate, made=True, pods=pods), NOW)
    return status, dict(find(status, Condition.RUNTIME_ENDING))


def test_the_owner_is_told_in_time() -> None:
    status, said = told(ran(None), accepted(ago(hours=2)))
    assert (status["startedAt"], status["runEndsAt"]) == (ago(hours=2), ago(hours=-8))
    assert (said["status"], said["reason"]) == ("False", "MaxRuntime")
    late = ran(ago(hours=9.5))
    status, said = told(late, accepted(ago(hours=1)))
    assert (said["status"], said["reason"]) == ("True", "MaxRuntimeSoon")
    assert f"stopped at {status['runEndsAt']}, after 10h, even if it is active" in said["message"]
    assert "devctl extend my-dev --max-runtime" in said["message"]
    events = [each for each in transitions(late.status, status) if each.reason == "MaxRuntimeSoon"]
    assert [each.type for each in events] == ["Warning"]
    assert not [e for e in transitions(status, status) if e.reason == "MaxRuntimeSoon"]


def test_the_notice_is_given_even_if_the_time_is_over() -> None:
    status, said = told(ran(ago(days=9)), accepted(ago(days=9)))
    assert said["reason"] == "MaxRuntimeSoon"
    assert status["runEndsAt"] == ago(minutes=-54)


def test_without_a_run_or_a_clock_nothing_ends() -> None:
    for candidate in (ran(None), ran(ago(hours=5), stopped=True)):
        status, said = told(candidate)
        assert (said["reason"], "runEndsAt" in status) == ("NotRunning", False)
    status, said = told(ran(ago(hours=-5)))
    assert (said["status"], said["reason"]) == ("Unknown", "ClockNotTrusted")
    assert "runEndsAt" not in status
    assert told(ran(ago(hours=5), lifecycle={}))[1] == {}


class FakeApi:
    """Returns one stored server, and records changes."""

    def __init__(self, stored: Server | None, clock: datetime = NOW) -> None:
        self.stored, self.clock = stored, clock
        self.changed: list[Any] = []
        self.current = True

    async def read(self, _kind: Any, _meta: Any) -> Fresh[Server]:
        return Fresh(self.stored, self.clock)

    async def change(self, _kind: Any, meta: Any, spec: Any, notes: Any) -> bool:
        self.changed.append((meta.resource_version, spec, notes))
        return self.current


LATE = ran(ago(hours=11), warned=ago(hours=1))


def ended(api: FakeApi) -> bool:
    return asyncio.run(end_run(cast("Any", api), LATE, NOW))


def test_a_run_that_is_over_ends_and_says_why() -> None:
    api, stops = FakeApi(LATE), figure("devserver_stops_total", reason="MaxRuntime")
    assert ended(api)
    ((version, spec, notes),) = api.changed
    assert (version, spec) == ("100", {"stopped": True})
    assert notes[STOPPED_BY] == "MaxRuntime"
    assert f"stopped at {ago()} after it had run for 10h" in notes[STOPPED_BY_MESSAGE]
    assert figure("devserver_stops_total", reason="MaxRuntime") == stops + 1
    after = server(LATE.status, {"annotations": notes}, stopped=True)
    ready = find(server_status(Observed(after), NOW), Condition.READY)
    assert ready["reason"] == "MaxRuntime"
    assert "its files are kept; start it with `devctl start my-dev`" in ready["message"]


@pytest.mark.parametrize(
    ("stored", "clock"),
    [
        (None, NOW),
        (server(LATE.status, {"uid": "u-2"}, lifecycle={"maxRuntime": "10h"}), NOW),
        (server(LATE.status, lifecycle={"maxRuntime": "12h"}), NOW),  # extended meanwhile
        (server(LATE.status, stopped=True, lifecycle={"maxRuntime": "10h"}), NOW),
        (LATE, NOW - 2 * HOUR),  # our clock is ahead
    ],
)
def test_what_was_read_again_decides(stored: Server | None, clock: datetime) -> None:
    api = FakeApi(stored, clock)
    assert not ended(api)
    assert api.changed == []


def test_a_version_that_has_changed_is_not_stopped() -> None:
    api, stops = FakeApi(LATE), figure("devserver_stops_total", reason="MaxRuntime")
    api.current = False
    assert not ended(api)
    assert figure("devserver_stops_total", reason="MaxRuntime") == stops


def test_the_end_is_the_one_that_was_announced() -> None:
    found = run_end(ran(ago(hours=9.5), warned=ago(minutes=30)), NOW)
    assert found is not None
    assert found.at == NOW + timedelta(minutes=30)
