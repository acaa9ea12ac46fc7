"""NodeActivities: when a report counts as one, and what is asked of each node's agent."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from devctl_observer.control.process import Clock
from devctl_observer.kinds.activity.family import Activities
from devctl_observer.kinds.activity.reports import NEVER, Reports
from devctl_observer.watching.kept import node_facts
from devctl_observer.watching.store import Key
from lightkube import ApiError

from devctl.api.labels import DEVSERVER
from unit.observer.activity import Steady, about, activity
from unit.observer.objects import node, pod, server
from unit.observer.running import api_error, idle_observer, servers_of

if TYPE_CHECKING:
    from devctl_observer.observer import Observer

NODE = Key("", "node-a")
MINE = Key("dev-alice", "my-dev")


class FakeApi:
    """Remembers what is written."""

    def __init__(self) -> None:
        self.created: list[dict[str, Any]] = []
        self.changed: list[Any] = []
        self.fails: ApiError | None = None

    async def create(self, _kind: Any, obj: dict[str, Any]) -> None:
        if self.fails:
            raise self.fails
        self.created.append(obj)

    async def change(self, _kind: Any, meta: Any, spec: Any) -> bool:
        self.changed.append((meta.name, spec))
        return True


def family_of(one: Observer) -> Activities:
    (found,) = (family for family in one.families if isinstance(family, Activities))
    return found


def queue_of(keys: set[Key]) -> Any:
    """A work queue that only remembers."""
    return SimpleNamespace(add=keys.add, forget_timer=keys.add)


def test_a_report_counts_from_its_arrival() -> None:
    steady = Steady()
    reports = Reports(steady)
    assert reports.of("node-a", "p-0") is NEVER
    assert not reports.note("node-a", activity(about(0, 30)))
    found = reports.of("node-a", "p-0")
    assert (found.at, found.since) == (None, 1000), "it was there before: it may be of any age"
    assert found.report
    steady.now += 60
    assert not reports.note("node-a", activity(about(0, 30), version=2)), "the same report"
    assert reports.note("node-a", activity(about(0, 90), sequence=2))
    found = reports.of("node-a", "p-0")
    assert (found.at, found.report and found.report.age) == (1060, 90)
    steady.now += 1
    assert not reports.note("node-a", activity(about(0, 0), sequence=1)), "an older one"
    assert reports.of("node-a", "p-0").at == 1060
    assert reports.note("node-a", activity(about(0, 0), sequence=1, instance="i-2"))
    assert reports.of("node-a", "p-0").at == 1061


def test_only_the_nodes_own_report_counts() -> None:
    reports = Reports(Steady())
    for sequence in (1, 2):
        reports.note("node-b", activity(about(0, 30), sequence=sequence, node="node-b"))
    assert reports.of("node-a", "p-0") is NEVER
    assert reports.of("node-b", "p-1").report is None
    reports.note("node-b", None)
    assert reports.of("node-b", "p-0") is NEVER


def test_it_is_known_whether_any_agent_has_ever_reported() -> None:
    reports = Reports(Steady())
    assert not reports.any
    reports.note("node-a", activity(sequence=None))
    assert not reports.any
    reports.note("node-a", activity(sequence=0))
    assert reports.any


def test_a_report_that_has_not_arrived_yet_is_noticed() -> None:
    reports = Reports(Steady())
    assert not reports.is_current(activity())
    reports.note("node-a", activity())
    assert reports.is_current(activity(version=9))
    assert not reports.is_current(activity(sequence=2))
    assert not reports.is_current(activity(instance="i-2"))


def test_signals_that_every_report_has_are_missed() -> None:
    report = activity({"uid": "p-0", "idleSeconds": 9}).report.pods[0]
    missing = [signal.type for signal in report.unknown()]
    assert missing == ["CPU", "Disk", "Network", "Process", "Terminal"]
    assert not activity(about(0, 9)).report.pods[0].unknown()


def test_each_node_gets_an_object_once() -> None:
    api = FakeApi()
    one = idle_observer(api)
    family = family_of(one)
    facts = node_facts(node())
    one.children.nodes.put(NODE, 1, facts)

    asyncio.run(family.controller.look(NODE))
    (made,) = api.created
    assert made["metadata"]["name"] == "node-a"
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Node", "node-a")
    family.store.put(NODE, 1, activity(sequence=None))
    asyncio.run(family.controller.look(NODE))
    assert (len(api.created), api.changed) == (1, [])
    asyncio.run(family.controller.look(Key("", "gone")))
    assert len(api.created) == 1


def test_an_object_that_exists_already_is_left_to_the_watch() -> None:
    api = FakeApi()
    one = idle_observer(api)
    one.children.nodes.put(NODE, 1, node_facts(node()))
    api.fails = api_error(HTTPStatus.CONFLICT)
    asyncio.run(family_of(one).controller.look(NODE))
    api.fails = api_error(HTTPStatus.FORBIDDEN)
    with pytest.raises(ApiError, match="Forbidden"):
        asyncio.run(family_of(one).controller.look(NODE))


def with_pod(one: Observer, **spec: Any) -> Any:
    """An observer that knows a server with a pod on node-a."""
    one.children.labels = {DEVSERVER: True}
    found = pod(ready=True)
    assert found.metadata
    found.metadata.labels = {DEVSERVER: "my-dev"}
    one.children.pods.put(Key("dev-alice", "my-dev-0"), 1, found)
    servers_of(one).store.put(MINE, 1, server(**spec))
    return found


def test_agents_are_asked_for_reports_when_time_is_over() -> None:
    api = FakeApi()
    one = idle_observer(api)
    with_pod(one, lifecycle={"idleTimeout": "1h"})
    family = family_of(one)
    family.store.put(NODE, 1, activity(sequence=None))
    asyncio.run(family.controller.look(NODE))
    asked = [{"uid": "p-0", "reportAt": [3300, 3600]}]
    assert api.changed == [("node-a", {"pods": asked})]
    family.store.put(NODE, 2, activity(sequence=None, asked=asked))
    asyncio.run(family.controller.look(NODE))
    assert len(api.changed) == 1, "nothing has changed"
    servers_of(one).store.put(MINE, 2, server())
    asyncio.run(family.controller.look(NODE))
    assert api.changed[1:] == [("node-a", {"pods": []})]


def test_what_changes_a_nodes_object_is_looked_at() -> None:
    one = idle_observer(clock=Clock())
    found = with_pod(one, lifecycle={"idleTimeout": "1h"})
    family, servers = family_of(one), servers_of(one)

    keys: set[Key] = set()
    family.queue, servers.queue = queue_of(keys), queue_of(set())

    def look(act: Any) -> list[Key]:
        keys.clear()
        act()
        return sorted(keys)

    moved = msgspec.convert(msgspec.to_builtins(found), type(found))
    assert moved.spec
    moved.spec.nodeName = "node-b"
    both = [NODE, Key("", "node-b")]
    before, after = server(), server(lifecycle={"idleTimeout": "2h"})
    assert look(lambda: servers.child(MINE, None, found)) == [NODE]
    assert look(lambda: servers.child(MINE, found, moved)) == both
    assert look(lambda: servers.child(MINE, found, found)) == []
    assert look(lambda: servers.changed(before, after)) == [NODE]
    assert look(lambda: servers.changed(before, before)) == []
    assert look(lambda: family.node(None, node_facts(node()))) == [NODE]
    assert look(lambda: family.node(node_facts(node()), None)) == []
    assert look(lambda: family.changed(activity(), None)) == [NODE]
    assert look(lambda: family.changed(None, activity())) == [NODE]
    assert look(lambda: family.changed(activity(), activity(sequence=2))) == []


def test_a_report_concerns_the_servers_on_its_node() -> None:
    one = idle_observer()
    with_pod(one)
    family, servers = family_of(one), servers_of(one)

    keys: set[Key] = set()
    family.queue, servers.queue = queue_of(set()), queue_of(keys)
    family.changed(None, activity())
    assert not keys
    family.changed(activity(), activity(sequence=2))
    assert keys == {MINE}
