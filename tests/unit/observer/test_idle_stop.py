"""How an idle server is stopped: nothing is, unless all is still as it was judged."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from devctl_observer.control.cluster_api import Fresh
from devctl_observer.kinds.activity.model import KIND as ACTIVITY
from devctl_observer.kinds.activity.reports import Reports
from devctl_observer.kinds.servers.idle_stop import IdleServers, held, watched
from devctl_observer.kinds.servers.model import Lifecycle, Server
from devctl_observer.kinds.servers.observed import Observed
from devctl_observer.watching.store import Key

from devctl.api.idleness import Idleness
from devctl.api.labels import STOPPED_BY, STOPPED_BY_MESSAGE
from unit.observer.activity import Steady, about, activity, signals
from unit.observer.objects import NOW, ago, distributed, made_from, pod, server

KEY = Key("dev-alice", "my-dev")
LIFE = {"idleTimeout": "1h", "autoShutdown": True}


class FakeApi:
    """An API server with one server and what agents have reported."""

    def __init__(self, found: Server | None) -> None:
        self.server = found
        self.clock = NOW
        self.nodes = {"node-a": activity(about(0, 3600), sequence=3)}
        self.changed: list[Any] = []
        self.current = True

    async def read(self, kind: Any, meta: Any) -> Fresh[Any]:
        found = self.nodes.get(meta.name) if kind is ACTIVITY else self.server
        return Fresh(found, self.clock)

    async def change(self, _kind: Any, _meta: Any, spec: Any, notes: Any = None) -> bool:
        self.changed.append((spec, notes))
        return self.current


class Scene:
    """A server that has been idle for as long as it may be, and was warned."""

    def __init__(self, **life: Any) -> None:
        self.steady = Steady()
        self.reports = Reports(self.steady)
        self.server = server({"lastActivityAt": "t", "lastActivity": "CPU"}, lifecycle=LIFE | life)
        self.api = FakeApi(self.server)
        process = SimpleNamespace(api=self.api, clock=SimpleNamespace(steady=self.steady))
        self.idle = IdleServers(self.reports, cast("Any", process))
        self.seen = Observed(self.server, made=True, pods=[pod(ready=True)])
        self.report(1, 3200)
        self.report(2, 3300)
        self.warned = self.judge()
        self.steady.now += 300
        self.report(3, 3600)
        self.due = self.judge()

    def report(self, sequence: int, age: int) -> None:
        self.reports.note("node-a", activity(about(0, age), sequence=sequence))

    def judge(self, now: datetime = NOW) -> Any:
        return self.idle.judge(KEY, self.seen, now)

    def stop(self, now: datetime = NOW) -> bool:
        return asyncio.run(self.idle.stop(self.server, self.due, now))


def test_an_idle_server_is_stopped_and_says_why() -> None:
    scene = Scene()
    assert scene.warned.judgement.verdict is Idleness.SOON
    assert (scene.warned.judgement.stop, scene.due.judgement.stop) == (False, True)
    assert scene.stop()
    ((spec, notes),) = scene.api.changed
    assert spec == {"stopped": True}
    assert notes == {
        STOPPED_BY: "IdleStopped",
        STOPPED_BY_MESSAGE: f"stopped at {ago()} after 1h without activity (last at t, CPU)",
    }


def newer_report(scene: Scene) -> None:
    scene.api.nodes["node-a"] = activity(about(0, 0), sequence=4)


def other_agent(scene: Scene) -> None:
    scene.api.nodes["node-a"] = activity(about(0, 3600), sequence=3, instance="i-2")


def no_node(scene: Scene) -> None:
    scene.api.nodes = {}


def newer_server(scene: Scene) -> None:
    scene.api.server = server(None, {"resourceVersion": "101"}, lifecycle=LIFE)


def no_server(scene: Scene) -> None:
    scene.api.server = None


def other_version(scene: Scene) -> None:
    scene.api.current = False


@pytest.mark.parametrize(
    "meanwhile",
    [newer_report, other_agent, no_node, newer_server, no_server, other_version],
    ids=lambda found: found.__name__,
)
def test_a_server_that_is_not_as_it_was_judged_is_not_stopped(meanwhile: Any) -> None:
    scene = Scene()
    meanwhile(scene)
    assert not scene.stop()
    assert len(scene.api.changed) == (meanwhile is other_version)


def test_a_hold_ends_by_the_api_servers_clock_as_well() -> None:
    scene = Scene(holdUntil=ago(seconds=10))
    assert scene.due.judgement.stop
    scene.api.clock = NOW - timedelta(seconds=30)
    assert not scene.stop()
    scene.api.clock = NOW
    assert not scene.stop(NOW - timedelta(seconds=30))
    assert scene.stop()


def test_no_step_of_the_wall_clock_matters() -> None:
    scene = Scene()
    for days in (-9999, 9999):
        assert scene.judge(NOW + timedelta(days=days)).judgement == scene.due.judgement


def test_activity_takes_the_warning_back() -> None:
    scene = Scene()
    scene.report(4, 0)
    assert scene.judge().judgement.verdict is Idleness.ACTIVE
    scene.report(5, 3600)
    assert not scene.judge().judgement.stop, "its owner is warned again"
    scene = Scene()
    scene.idle.forget(KEY)
    assert not scene.judge().judgement.stop


def test_without_any_agent_nothing_is_measured() -> None:
    scene = Scene()
    scene.reports = Reports(scene.steady)
    process = SimpleNamespace(api=scene.api, clock=SimpleNamespace(steady=scene.steady))
    scene.idle = IdleServers(scene.reports, cast("Any", process))
    assert scene.judge().judgement.verdict is Idleness.NOT_MEASURED


def test_every_replica_counts_and_only_running_pods_are_measured() -> None:
    scene = Scene()
    two = server(lifecycle=LIFE, **distributed(2))
    pods = [pod(0, ready=True), pod(1, ready=True)]

    def judged(*found: Any) -> Any:
        ranks = scene.idle.judge(KEY, Observed(two, made=True, pods=found), NOW).ranks
        return [(rank.ordinal, rank.node, rank.arrival.report is not None) for rank in ranks]

    assert judged(*pods) == [(0, "node-a", True), (1, "node-a", False)]
    assert judged(pods[1]) == [(0, "", False), (1, "node-a", False)]
    ending = pod(0, ready=True, meta={"deletionTimestamp": ago()})
    starting = pod(0, phase="Pending")
    for one in (ending, starting):
        assert judged(one, pods[1])[0] == (0, "", False)
    assert scene.idle.judge(KEY, Observed(server(stopped=True), pods=pods), NOW).ranks == []


def test_the_reason_goes_with_the_next_start() -> None:
    scene = Scene()
    why = {"annotations": {STOPPED_BY: "IdleStopped", STOPPED_BY_MESSAGE: "x"}}

    def clean(found: Server) -> list[Any]:
        asyncio.run(scene.idle.clean(found))
        return scene.api.changed

    assert clean(server()) == []
    assert clean(server(None, why, stopped=True)) == []
    assert clean(server(None, why)) == [({}, {STOPPED_BY: None, STOPPED_BY_MESSAGE: None})]


def test_for_how_long_a_server_is_held() -> None:
    def seconds(until: str | None) -> float:
        return held(Lifecycle(hold_until=until), NOW)

    assert (seconds(None), seconds(ago(hours=1)), seconds(ago(hours=-1))) == (0, 0, 3600)
    assert seconds("someday") == float("inf")


def test_what_agents_are_asked_for() -> None:
    def asked(**life: Any) -> Any:
        found = watched("p-0", server(lifecycle=life))
        return found and list(found.report_at)

    assert asked() is None
    assert asked(idleTimeout=61) == [46, 61]
    assert asked(idleTimeout="8h", autoShutdown=True) == [28500, 28800]


def test_a_declared_probe_that_is_not_reported_is_unknown() -> None:
    scene = Scene()
    probes = {"activityProbe": {"exec": {"command": ["true"]}}}
    scene.seen = Observed(server(lifecycle=LIFE | probes), made=True, pods=[pod(ready=True)])
    judgement = scene.judge().judgement
    assert judgement.verdict is Idleness.SIGNAL_UNKNOWN
    assert judgement.gap
    assert judgement.gap.signal
    assert judgement.gap.signal.type == "Probe"
    # What the pods were created from counts, not what the spec says by now.
    made = made_from(lifecycle={"idleTimeout": "1h"})
    scene.seen = replace(scene.seen, annotations=made)
    assert scene.judge().judgement.verdict is Idleness.SOON


def test_an_active_probe_keeps_a_server_and_an_idle_one_stops_none_early() -> None:
    scene = Scene()
    probes = {"activityProbe": {"exec": {"command": ["true"]}}}
    scene.seen = Observed(server(lifecycle=LIFE | probes), made=True, pods=[pod(ready=True)])
    for sequence, age, others, verdict in (
        (4, 0, 3600, Idleness.ACTIVE),
        (5, 3600, 0, Idleness.ACTIVE),
        (6, 3600, 3600, Idleness.SOON),
    ):
        said = [*signals(others), {"type": "Probe", "idleSeconds": age}]
        report = about(0, min(age, others), said)
        scene.reports.note("node-a", activity(report, sequence=sequence))
        assert scene.judge().judgement.verdict is verdict
