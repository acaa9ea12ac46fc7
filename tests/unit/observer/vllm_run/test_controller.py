"""What a look at a run reads, writes and wakes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import msgspec
from devctl_observer.control.cluster_api import Fresh
from devctl_observer.control.process import Clock, Process
from devctl_observer.judging.caches import Cached, Plan
from devctl_observer.kinds.vllm_run.controller import RunController
from devctl_observer.kinds.vllm_run.observed import RunCaches
from devctl_observer.watching.children import Children
from devctl_observer.watching.kept import node_facts
from devctl_observer.watching.store import Key
from lightkube.resources.core_v1 import Node, Pod

from unit.observer.objects import NOW
from unit.observer.running import figure
from unit.observer.vllm_run.things import APPLIED, NAME, NAMESPACE, STARTED, claim, exited, pod, run

if TYPE_CHECKING:
    from devctl_observer.control.cluster_api import ClusterApi
    from devctl_observer.kinds.vllm_run.model import VLLMRun
    from devctl_observer.watching.node_caches import Caches

KEY, POD = Key(NAMESPACE, NAME), Key(NAMESPACE, "one-vllm-pod")
READY = {
    "metadata": {"name": "n1"},
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}
NODE = msgspec.convert(READY, Node)
UP = STARTED | {"conditions": [APPLIED]}


@dataclass
class FakeApi:
    """An API server with one run, and perhaps a pod that no cache knows."""

    caches: RunCaches
    pods: list[Pod] = field(default_factory=list)
    ahead: timedelta = timedelta(0)
    """Of the API server's clock."""
    woken: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    listed: list[Any] = field(default_factory=list)

    async def read(self, _: Any, __: Any) -> Fresh[VLLMRun]:
        return Fresh(self.caches.runs.get(KEY), NOW + self.ahead)

    async def list_now(self, resource: Any, *_: Any) -> list[Any]:
        self.listed.append(resource)
        return [NODE] if resource is Node else self.pods

    async def apply_status(self, _: Any, __: Any, status: dict[str, Any]) -> dict[str, Any]:
        return self._stored(status)

    async def wake(self, _: Any, __: Any, value: str) -> dict[str, Any]:
        self.woken.append(value)
        return self._stored(self.stored.status, value)

    async def tell(self, _: Any, __: Any, ___: str, said: Any) -> None:
        self.told.append(said.reason)

    @property
    def stored(self) -> VLLMRun:
        found = self.caches.runs.get(KEY)
        assert found
        return found

    def _stored(self, status: dict[str, Any], wake: str = "") -> dict[str, Any]:
        before = self.stored
        metadata = msgspec.to_builtins(before.metadata)
        metadata["resourceVersion"] = str(int(before.metadata.resource_version) + 1)
        metadata["annotations"] = {"canhazgpu.dev/wake": wake or before.wake}
        # Server-side apply leaves the role's condition alone.
        conditions = [*status.get("conditions", []), APPLIED]
        spec = msgspec.to_builtins(before.spec)
        spec = {name: value for name, value in spec.items() if value not in {None, ""}}
        return {"metadata": metadata, "spec": spec, "status": {**status, "conditions": conditions}}


def looked(
    of: VLLMRun, a_pod: Pod | None = None, caches: Caches | None = None, **more: Any
) -> tuple[FakeApi, float | None]:
    """What a look asked for, and in how many seconds the next one is due."""
    known = RunCaches(Children())
    known.children.caches = caches or known.children.caches
    known.children.nodes.put(Key("", "n1"), 1, node_facts(NODE))
    known.children.devices.claims.put(KEY, 1, claim(0))
    known.runs.put(KEY, 5, of)
    if a_pod:
        known.children.pods.put(POD, 1, a_pod)
    api = FakeApi(known, **more)
    process = Process(known.children, cast("ClusterApi", api), Clock(now=lambda: NOW))
    wait = asyncio.run(RunController(known, process).look(KEY))
    return api, wait


def test_an_end_is_recorded_and_the_role_gives_the_claim_back() -> None:
    api, _ = looked(run(UP), pod("Failed", state=exited(7)))
    assert api.stored.status["exitCode"] == 7
    assert api.told == ["NonZeroExit"]
    assert len(api.woken) == 1
    # The pod itself proves it.
    assert not api.listed


def test_the_absence_of_a_pod_is_proven_past_the_cache() -> None:
    api, _ = looked(run(UP), pods=[pod()])
    assert api.listed == [Pod, Node]
    assert api.stored.phase == "Starting"
    gone, _ = looked(run(UP))
    assert gone.stored.status["reason"] == "PodDeleted"


def test_a_clock_that_is_ahead_ends_nothing() -> None:
    late = run({"conditions": [APPLIED]}, timeout=30)
    api, wait = looked(late, pod("Pending", None), ahead=-timedelta(hours=1))
    assert api.stored.phase == "Pending"
    assert wait == 5.0
    both, _ = looked(late, pod("Pending", None))
    assert both.stored.status["reason"] == "TimedOut"
    assert len(both.woken) == 1


def test_a_missing_pod_of_a_run_that_has_not_started_is_created_again() -> None:
    api, wait = looked(run({"conditions": [APPLIED]}))
    # A watch may lag behind: it is looked for again first.
    assert not api.woken
    assert wait == 3.0


def test_a_look_without_a_change_writes_nothing() -> None:
    first, _ = looked(run(UP), pod(ready=True))
    again, _ = looked(first.stored, pod(ready=True))
    assert not again.told
    assert again.stored.metadata.resource_version == first.stored.metadata.resource_version


def test_what_a_nodes_cache_saved_is_counted_once() -> None:
    before = figure("vllmruns_saved_seconds_total")
    item = {"type": "image", "name": "pinned", "image": {"ref": "i:1"}}
    cached = {("image", "pinned"): Cached("ready", present=True, seconds=42)}
    caches = Children().caches
    caches.plans.put(Key("", "default"), 1, Plan("1", [item]))
    caches.nodes.put(Key("", "n1"), 1, cached)
    new = pod("Pending", state={"waiting": {"reason": "ContainerCreating"}})
    first, _ = looked(run({"conditions": [APPLIED]}), new, caches=caches)
    assert first.stored.status["cache"] == {"image": "ready", "savedSeconds": 42}
    looked(first.stored, pod(), caches=caches)
    assert figure("vllmruns_saved_seconds_total") == before + 42
