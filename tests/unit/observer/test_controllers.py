"""What is written about servers and flavors, with a fake cluster in memory."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest
from devctl_observer.control.process import Clock, Process
from devctl_observer.control.role_controller import GRACE
from devctl_observer.kinds.activity.reports import Reports
from devctl_observer.kinds.flavors.controller import FlavorController
from devctl_observer.kinds.flavors.placed_pods import NodeUse
from devctl_observer.kinds.servers.controller import ServerController
from devctl_observer.kinds.servers.observed import Caches
from devctl_observer.watching.children import Children
from devctl_observer.watching.kept import node_facts, small_stateful_set
from devctl_observer.watching.store import Key, Store
from lightkube import ApiError
from lightkube.resources.apps_v1 import StatefulSet

from devctl.api.conditions import find
from devctl.api.labels import DEVSERVER, WAKE
from unit.observer.objects import (
    ago,
    distributed,
    flavor,
    node,
    pod,
    server,
    unscheduled,
    warning,
)
from unit.observer.running import api_error, figure

if TYPE_CHECKING:
    from devctl_observer.control.cluster_api import ClusterApi
    from devctl_observer.kinds.servers.model import Server

KEY = Key("dev-alice", "my-dev")
RESOURCES = {"resources": {"requests": {"cpu": 1, "memory": "1Gi"}}}


class FakeCluster:
    """Stores writes as the API server would; versions count them."""

    def __init__(self, caches: Caches) -> None:
        self.caches = caches
        self.version = 1000
        self.written: list[dict[str, Any]] = []
        self.told: list[str] = []
        self.woken: list[str] = []
        self.fails: ApiError | None = None
        self.shared: list[str] = []
        self.asked: list[str] = []

    async def list_now(self, _resource: Any, namespace: str, name: str) -> list[str]:
        assert namespace == KEY.namespace
        self.asked.append(name)
        return [claim for claim in self.shared if claim == name]

    async def apply_status(self, _kind: Any, meta: Any, status: dict[str, Any]) -> dict[str, Any]:
        if self.fails:
            raise self.fails
        before = self.read(meta)
        self.written.append(status)
        ours = {entry["type"] for entry in status["conditions"]}
        others = [
            entry
            for entry in (before.status.get("conditions", []) if before else [])
            if entry["type"] not in ours
        ]
        merged = {**status, "conditions": [*others, *status["conditions"]]}
        return self.stored(meta, merged, before)

    async def wake(self, _kind: Any, meta: Any, value: str) -> dict[str, Any]:
        if self.fails:
            raise self.fails
        before = self.read(meta)
        assert before
        self.woken.append(value)
        return self.stored(meta, before.status, before, value)

    def read(self, meta: Any) -> Server | None:
        """The stored object; a conflict if the version is outdated."""
        found = self.caches.servers.get(Key(meta.namespace, meta.name))
        if found and found.metadata.resource_version != meta.resource_version:
            raise api_error(HTTPStatus.CONFLICT)
        return found

    async def tell(self, _kind: Any, _meta: Any, _version: str, said: Any) -> None:
        self.told.append(said.reason)

    def stored(
        self, meta: Any, status: dict[str, Any], before: Server | None, wake: str = ""
    ) -> dict[str, Any]:
        self.version = max(self.version, int(meta.resource_version or 0)) + 1
        metadata = msgspec.to_builtins(meta) | {"resourceVersion": str(self.version)}
        wake = wake or (before.wake if before else "")
        annotations = {WAKE: wake} if wake else {}
        spec = msgspec.to_builtins(before.spec) | before.pod_spec if before else RESOURCES
        return {"metadata": metadata | {"annotations": annotations}, "spec": spec, "status": status}


class Controllers:
    """The controllers of one process."""

    def __init__(self, caches: Caches, cluster: FakeCluster, clock: Clock | None = None) -> None:
        api, clock = cast("ClusterApi", cluster), clock or Clock()
        process = Process(caches.children, api, clock)
        self.of_flavors = FlavorController(NodeUse(), process)
        for known in caches.flavors:
            self.of_flavors.store.put(Key("", known.metadata.name), 1, known)
        caches.flavors = self.of_flavors.store
        self.of_servers = ServerController(caches, {}, Reports(clock.steady), process)
        self.server, self.flavor = self.of_servers.look, self.of_flavors.look


def filled() -> tuple[Caches, FakeCluster, Controllers]:
    children = Children()
    children.labels = {DEVSERVER: True}
    caches = Caches(children, Store())
    cluster = FakeCluster(caches)
    caches.servers.put(KEY, 100, server())
    caches.flavors.put(Key("", "cpu-small"), 1, flavor())
    children.nodes.put(Key("", "node-a"), 1, node_facts(node()))
    labelled = pod(ready=True)
    assert labelled.metadata
    labelled.metadata.labels = {DEVSERVER: "my-dev"}
    children.pods.put(Key("dev-alice", "my-dev-0"), 1, labelled)
    foreign = warning("Pod", "my-dev-0", "FailedMount", "of an earlier pod")
    children.warnings.put(Key("dev-alice", "w"), 1, foreign)
    owner = {"apiVersion": "v1", "kind": "DevServer", "name": "my-dev", "uid": "u-1"}
    made = msgspec.convert(
        {
            "metadata": {"name": "my-dev", "uid": "s", "ownerReferences": [owner]},
            "spec": {"selector": {}, "serviceName": "my-dev", "template": {}},
        },
        StatefulSet,
    )
    caches.stateful_sets.put(KEY, 1, small_stateful_set(made))
    return caches, cluster, Controllers(caches, cluster)


def test_a_status_is_written_once() -> None:
    caches, cluster, controllers = filled()
    of_kind = {"kind": "devserver"}
    counted = figure("status_writes_total", **of_kind), figure("looks_total", **of_kind)
    observed = caches.observe(KEY, server())
    assert observed.made
    assert observed.around.warnings == ()
    for _ in range(3):
        assert asyncio.run(controllers.server(KEY)) is None
        assert asyncio.run(controllers.flavor(Key("", "cpu-small"))) is None
    assert [status.get("phase") for status in cluster.written] == ["Running", None]
    assert cluster.told == ["Running"]
    assert figure("status_writes_total", **of_kind) == counted[0] + 1
    assert figure("looks_total", **of_kind) == counted[1] + 3
    assert asyncio.run(controllers.server(Key("dev-alice", "gone"))) is None
    assert asyncio.run(controllers.flavor(Key("", "gone"))) is None


@pytest.mark.parametrize("code", [HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT])
def test_what_is_gone_meanwhile_is_no_failure(code: HTTPStatus) -> None:
    _, cluster, controllers = filled()
    cluster.fails = api_error(code)
    assert asyncio.run(controllers.server(KEY)) is None
    assert asyncio.run(controllers.flavor(Key("", "cpu-small"))) is None
    assert cluster.written == []


def test_a_refused_write_is_a_failure() -> None:
    _, cluster, controllers = filled()
    cluster.fails = api_error(HTTPStatus.FORBIDDEN)
    with pytest.raises(ApiError, match="Forbidden"):
        asyncio.run(controllers.server(KEY))
    with pytest.raises(ApiError, match="Forbidden"):
        asyncio.run(controllers.flavor(Key("", "cpu-small")))


def test_a_shared_claim_is_asked_for_while_the_scheduler_has_no_node() -> None:
    caches, cluster, controllers = filled()
    reasons, waits = [], unscheduled("0/1 nodes are available")
    sharing = server(sharedVolumeClaimName="data", meta={"resourceVersion": "101"})
    caches.servers.put(KEY, 101, sharing)
    for cluster.shared, now in (([], pod(conditions=[])), ([], waits), (["data"], waits)):
        labelled = now.metadata
        assert labelled
        labelled.labels = {DEVSERVER: "my-dev"}
        caches.children.pods.put(Key("dev-alice", "my-dev-0"), 0, now)
        asyncio.run(controllers.server(KEY))
        reasons.append(find(cluster.written[-1], "Ready")["reason"])
    assert reasons == ["Scheduling", "VolumeNotFound", "Unschedulable"]
    assert cluster.asked == ["data"] * 2


def test_an_expiring_server_is_looked_at_in_time() -> None:
    caches, _, controllers = filled()
    caches.servers.put(KEY, 101, server(lifecycle={"timeToLive": "9999d"}))
    wait = asyncio.run(controllers.server(KEY))
    assert wait is not None
    assert wait > 86400


def invalid(generation: int) -> dict[str, Any]:
    said = {"type": "Applied", "status": "False", "reason": "Invalid", "message": "no flavor"}
    return {"conditions": [said | {"observedGeneration": generation}]}


def test_a_role_is_woken_once_for_each_cause() -> None:
    caches, cluster, controllers = filled()
    caches.servers.put(KEY, 100, server(invalid(3)))
    wakes = figure("wakes_total", kind="devserver")
    for _ in range(3):
        asyncio.run(controllers.server(KEY))
    assert len(cluster.woken) == 1
    assert figure("wakes_total", kind="devserver") == wakes + 1
    # A new process without that state finds the annotation.
    again = Controllers(caches, cluster)
    asyncio.run(again.server(KEY))
    assert len(cluster.woken) == 1
    caches.flavors.put(Key("", "cpu-small"), 2, flavor(generation=2))
    asyncio.run(again.server(KEY))
    assert len(set(cluster.woken)) == 2


def test_what_a_new_spec_asks_for_is_given_time_to_be_seen() -> None:
    """Even if the role of the server had succeeded long before."""
    caches, cluster, _ = filled()
    now = [0.0]
    controllers = Controllers(caches, cluster, Clock(steady=lambda: now[0]))
    said = {"type": "Applied", "status": "True", "lastTransitionTime": ago(days=9)}
    applied = {"conditions": [said | {"observedGeneration": 3}]}
    for version, seconds, wakes in ((90_000, 0, 0), (91_000, GRACE, 1)):
        now[0] = seconds
        meta = {"resourceVersion": str(version)}
        caches.servers.put(KEY, version, server(applied, meta, **distributed()))
        asyncio.run(controllers.server(KEY))
        assert len(cluster.woken) == wakes


def test_who_has_failed_for_nothing_that_is_known_is_not_woken() -> None:
    caches, cluster, controllers = filled()
    caches.servers.put(KEY, 100, server(invalid(2)))
    asyncio.run(controllers.server(KEY))
    assert cluster.woken == []


def test_a_server_that_goes_while_it_is_woken_is_no_failure() -> None:
    caches, cluster, controllers = filled()
    asyncio.run(controllers.server(KEY))
    written = caches.servers.get(KEY)
    assert written
    status = {**written.status, "conditions": [*written.status["conditions"]]}
    status["conditions"] += invalid(3)["conditions"]
    caches.servers.put(KEY, 90_000, server(status, {"resourceVersion": "90000"}))
    cluster.fails = api_error(HTTPStatus.CONFLICT)
    assert asyncio.run(controllers.server(KEY)) is None
    assert cluster.woken == []


def test_what_goes_while_its_status_is_written_stays_away(monkeypatch: pytest.MonkeyPatch) -> None:
    caches, cluster, controllers = filled()
    write = cluster.apply_status
    stores: dict[str, Any] = {"DevServer": caches.servers, "DevServerFlavor": caches.flavors}

    async def write_and_go(kind: Any, meta: Any, status: Any) -> Any:
        written = await write(kind, meta, status)
        stores[kind.name].drop(Key(meta.namespace, meta.name))
        return written

    monkeypatch.setattr(cluster, "apply_status", write_and_go)
    asyncio.run(controllers.server(KEY))
    asyncio.run(controllers.flavor(Key("", "cpu-small")))
    assert len(cluster.written) == 2
    assert not [*caches.servers, *caches.flavors]


def test_a_change_that_is_not_applied_is_told_once() -> None:
    caches, cluster, controllers = filled()
    asyncio.run(controllers.server(KEY))
    written = caches.servers.get(KEY)
    assert written
    conflict = invalid(3)["conditions"][0] | {"reason": "Conflict"}
    status = {**written.status, "conditions": [*written.status["conditions"], conflict]}
    caches.servers.put(KEY, 90_000, server(status, {"resourceVersion": "90000"}))
    for _ in range(3):
        asyncio.run(controllers.server(KEY))
    assert cluster.told == ["Running", "NotApplied"]
