"""What is promised to workloads, what wakes a role, and what a controller counts."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest
from devctl_observer.control.figures import REGISTRY
from devctl_observer.control.process import Clock, Process
from devctl_observer.control.role_controller import Known
from devctl_observer.kinds.flavors.placed_pods import Asked, NodeUse
from devctl_observer.kinds.gpu_workload.controller import WorkloadController
from devctl_observer.kinds.gpu_workload.model import KIND, GPUWorkload
from devctl_observer.kinds.gpu_workload.observed import WorkloadCaches
from devctl_observer.kinds.gpu_workload.strategies import BUILT_IN
from devctl_observer.kinds.gpu_workload.transitions import transitions
from devctl_observer.kinds.gpu_workload.wake import cause
from devctl_observer.watching.children import Children
from devctl_observer.watching.kept import node_facts
from devctl_observer.watching.store import Key, Store
from lightkube import ApiError
from lightkube.resources.batch_v1 import Job

from devctl.api.gpu_workload import LABEL
from devctl.api.quantities import GPU
from unit.observer.gpu_workload.things import (
    NAME,
    NAMESPACE,
    RUNNING,
    SCHEDULING,
    after,
    at,
    exited,
    job,
    pod,
    rank,
    workload,
)
from unit.observer.objects import NOW, flavor, node
from unit.observer.running import api_error

if TYPE_CHECKING:
    from devctl_observer.control.cluster_api import ClusterApi

KEY, OTHER = Key(NAMESPACE, NAME), Key(NAMESPACE, "other")
PROMISED = SCHEDULING | {"lastScheduleTime": at(0)}


def caches(nodes: int = 1, gpus: int = 4) -> WorkloadCaches:
    children = Children()
    children.labels = {LABEL: True}
    made = WorkloadCaches(children, NodeUse(), Store())
    made.jobs = children.follow(Job)
    room = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: str(gpus)}
    for number in range(1, nodes + 1):
        facts = node_facts(node(f"n{number}", allocatable=room))
        children.nodes.put(Key("", f"n{number}"), 1, facts)
    return made


def promised(of: WorkloadCaches, seconds: float = 0) -> Decimal:
    """The GPUs of the only node that are promised to the workload `one`."""
    (place,) = of.places(OTHER, workload(), after(seconds))
    return place.promised.get(GPU, Decimal(0))


def test_a_node_has_the_images_that_its_cache_agent_reports() -> None:
    known = caches(nodes=2)
    shared = known.children.caches
    plans, nodes = (followed.convert for followed in shared.followed)
    item = {"type": "image", "name": "pinned", "image": {"ref": "vllm:1"}}
    shared.plans.put(Key("", "default"), 1, plans({"metadata": {}, "spec": {"items": [item]}}))

    def report(**entry: Any) -> list[bool]:
        images = [{"name": "pinned", "status": "ready", "present": True} | entry]
        shared.nodes.put(Key("", "n1"), 1, nodes({"status": {"images": images}}))
        shared.followed[1].changed(None, None)
        places = known.places(KEY, workload(), NOW)
        return ["docker.io/library/vllm:1" in place.node.images for place in places]

    assert report() == [True, False]
    assert report(name="gone from the plan") == [False, False]
    assert report(present=False, status="pulling") == [False, False]


def place_pod(of: WorkloadCaches, **changes: Any) -> None:
    of.children.pods.put(Key(NAMESPACE, "one-1-abcde"), 1, pod(**changes))


def test_a_gpu_is_promised_until_its_pod_is_counted() -> None:
    known = caches()
    known.workloads.put(KEY, 1, workload(PROMISED, gpuCount=3))
    assert promised(known) == 3
    (own,) = known.places(KEY, workload(), NOW)
    assert own.promised == {}
    place_pod(known, node=None, scheduled={"status": "Unknown"})
    assert promised(known) == 3
    place_pod(known, node="n1")
    # The watch of all pods may be behind: nobody counts it yet.
    assert promised(known) == 3
    known.placed.put(Key(NAMESPACE, "one-1-abcde"), 1, Asked("n1", ()))
    assert promised(known) == 0


def test_a_place_has_the_price_of_its_flavor() -> None:
    known = caches()
    resources = {"limits": {GPU: 1}}
    known.flavors.put(KEY, 1, flavor(resources=resources, price={"perGPUHour": 2}))
    (place,) = known.places(KEY, workload(), NOW)
    assert place.price == 2


def test_the_image_of_a_workload_is_found_among_those_of_a_node() -> None:
    known = caches(nodes=2)
    listed = [["docker.io/me/train@sha256:0f", "docker.io/me/train:1"]]
    room = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: "1"}
    facts = node_facts(node("n2", allocatable=room, images=listed))
    assert facts == node_facts(node("n2", allocatable=room)), "a change of images alone is no news"
    known.children.nodes.put(Key("", "n2"), 1, facts)
    known.workloads.put(KEY, 1, workload(schedulingStrategy="cacheAware", image="me/train:1"))
    looked, _ = controller(known)
    asyncio.run(looked.look(KEY))
    item = known.workloads.get(KEY)
    assert item is not None
    assert item.status["assignedNode"] == "n2"


def test_a_promise_is_not_for_ever() -> None:
    known = caches()
    known.workloads.put(KEY, 1, workload(PROMISED))
    assert promised(known, 59) == 1
    assert promised(known, 60) == 0


@pytest.mark.parametrize(
    ("changes", "gpus"),
    [
        ({"node": None, "scheduled": {"reason": "Unschedulable"}}, 0),
        ({"node": None, "scheduled": {"reason": "x"}, "nominatedNodeName": "n1"}, 1),
        ({"phase": "Succeeded", "state": exited(0)}, 0),
    ],
)
def test_what_the_scheduler_says_decides(changes: dict[str, Any], gpus: int) -> None:
    known = caches()
    known.workloads.put(KEY, 1, workload(PROMISED))
    place_pod(known, **changes)
    assert promised(known) == gpus


def test_each_pod_of_several_is_promised_its_node() -> None:
    known = caches(nodes=2)
    status = PROMISED | {"assignedNodes": ["n1", "n2", "n1"]}
    known.workloads.put(KEY, 1, workload(status, nodes=3, gpuCount=1))

    def counts() -> list[Decimal]:
        places = known.places(OTHER, workload(), NOW)
        return [place.promised.get(GPU, Decimal(0)) for place in places]

    assert counts() == [2, 1]
    first = Key(NAMESPACE, "one-1-0-abcde")
    known.children.pods.put(first, 1, rank(0))
    assert counts() == [2, 1]
    known.placed.put(first, 1, Asked("n1", ()))
    assert counts() == [1, 1]
    known.children.pods.put(Key(NAMESPACE, "one-1-1-abcde"), 1, rank(1, "Pending", None))
    assert counts() == [1, 0]


def test_the_newest_pod_of_each_rank_counts() -> None:
    known = caches()
    item = workload(RUNNING, nodes=2)
    for name, pod_ in {
        "second": rank(1),
        "old": rank(0, meta={"creationTimestamp": at(-90)}),
        "new": rank(0, node="n2"),
        "of-another": pod(attempt=2),
    }.items():
        known.children.pods.put(Key(NAMESPACE, name), 1, pod_)
    known.lost(KEY, rank(1, node="n3"))
    known.lost(KEY, pod(attempt=2, meta={"labels": {}}))
    seen_ = known.observe(KEY, item)
    assert [each.spec and each.spec.nodeName for each in seen_.pods] == ["n2", "n1"]
    assert [each.spec and each.spec.nodeName for each in seen_.gone] == ["n3"]


def test_only_workloads_without_a_place_are_looked_at() -> None:
    known = caches()
    for number, status in enumerate(({}, RUNNING, RUNNING | {"phase": "Succeeded"})):
        known.workloads.put(Key("team", str(number)), 1, workload(status))
    assert known.workloads.find(index=True) == []
    known.workloads.put(KEY, 1, workload(PROMISED))
    assert len(known.workloads.find(index=True)) == 1


def test_lower_priorities_are_summed_by_node() -> None:
    use = NodeUse()
    low, high = (Asked("n1", ((GPU, Decimal(2)), ("pods", Decimal(1))), p) for p in (-1000, 0))
    for each in (low, high):
        use.change(None, each)
    assert use.of("n1")[GPU] == 4
    assert use.below("n1", 0)[GPU] == 2
    assert use.below("n1", -1000) == {}
    for each in (low, high):
        use.change(each, None)
    assert use.of("n1") == use.below("n1", 9999) == {}


KNOWN = Known(born="b")


@pytest.mark.parametrize(
    ("item", "jobs", "woken"),
    [
        (workload(), [], False),
        (workload(SCHEDULING), [], True),
        (workload(RUNNING), [job()], False),
        (workload(RUNNING, stopped=True), [job()], True),
        (workload({"phase": "Pending", "attempt": 1}), [job()], True),
        (workload({"phase": "Pending", "attempt": 1}), [job(ended="Failed")], False),
        (workload({"phase": "Pending", "attempt": 1, "jobName": "one-1"}), [job()], False),
        (
            workload({"phase": "Pending", "attempt": 1}),
            [job(meta={"deletionTimestamp": at(0)})],
            False,
        ),
        (workload(SCHEDULING, meta={"deletionTimestamp": at(0)}), [], False),
    ],
)
def test_a_role_is_woken_to_create_or_remove_a_job(
    item: GPUWorkload, jobs: list[Job], *, woken: bool
) -> None:
    assert bool(cause(item, jobs, KNOWN)) is woken


def test_each_attempt_wakes_its_role_anew() -> None:
    second = SCHEDULING | {"attempt": 2}
    causes = {cause(workload(status), [], KNOWN) for status in (SCHEDULING, second)}
    assert len(causes) == 2


def test_expired_jobs_are_removed() -> None:
    said = [{"type": "JobsExpired", "status": "True"}]
    done = workload({"phase": "Succeeded", "attempt": 1, "conditions": said})
    assert cause(done, [job(ended="Complete")], KNOWN)
    assert not cause(done, [], KNOWN)


@dataclass
class FakeApi:
    """Stores statuses as the API server would; a write takes a moment."""

    caches: WorkloadCaches
    woken: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    fails: ApiError | None = None

    async def apply_status(self, _: Any, meta: Any, status: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0.001)
        if self.fails:
            raise self.fails
        return self._stored(meta, status)

    async def wake(self, _: Any, meta: Any, value: str) -> dict[str, Any]:
        await asyncio.sleep(0.001)
        self.woken.append(value)
        before = self._read(meta)
        return self._stored(meta, before.status, {"gpu.warp.dev/wake": value})

    async def tell(self, _: Any, __: Any, ___: str, said: Any) -> None:
        self.told.append(said.reason)

    def _read(self, meta: Any) -> GPUWorkload:
        found = self.caches.workloads.get(Key(meta.namespace, meta.name))
        assert found
        return found

    def _stored(
        self, meta: Any, status: dict[str, Any], notes: dict[str, str] | None = None
    ) -> dict[str, Any]:
        before = self._read(meta)
        version = str(int(before.metadata.resource_version or 0) + 1)
        metadata = msgspec.to_builtins(before.metadata) | {"resourceVersion": version}
        metadata["annotations"] = notes or {"gpu.warp.dev/wake": before.wake}
        return {
            "metadata": metadata,
            "spec": msgspec.to_builtins(before.spec),
            "status": dict(status),
        }


def controller(known: WorkloadCaches) -> tuple[WorkloadController, FakeApi]:
    api = FakeApi(known)
    process = Process(known.children, cast("ClusterApi", api), Clock(now=lambda: NOW))
    return WorkloadController(known, process, BUILT_IN), api


def figure(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"warp_gpuworkload_{name}", labels) or 0


def test_many_at_once_are_never_promised_the_same_gpu() -> None:
    known = caches(nodes=5, gpus=8)
    looked, api = controller(known)
    keys = [Key("team", f"w-{number}") for number in range(30)]
    before = figure("scheduled_total", strategy="leastLoaded")
    for key in keys:
        meta = {"name": key.name, "namespace": key.namespace, "uid": key.name, "generation": 1}
        spec = {"modelName": "m", "gpuCount": 1}
        known.workloads.put(key, 1, KIND.parse({"metadata": meta, "spec": spec}))

    async def everything() -> None:
        await asyncio.gather(*(looked.look(key) for key in keys))

    asyncio.run(everything())
    nodes = [str(item.status["assignedNode"]) for item in known.workloads]
    counts = [nodes.count(f"n{number}") for number in range(1, 6)]
    assert counts == [6] * 5
    assert known.chosen == {}
    assert len(set(api.woken)) == 30
    assert figure("scheduled_total", strategy="leastLoaded") == before + 30


def test_many_of_several_pods_are_never_promised_the_same_gpu() -> None:
    known = caches(nodes=4, gpus=6)
    looked, _ = controller(known)
    keys = [Key("team", f"w-{number}") for number in range(5)]
    for key in keys:
        meta = {"name": key.name, "namespace": key.namespace, "uid": key.name, "generation": 1}
        spec = {"modelName": "m", "gpuCount": 2, "nodes": 3}
        known.workloads.put(key, 1, KIND.parse({"metadata": meta, "spec": spec}))

    async def everything() -> None:
        await asyncio.gather(*(looked.look(key) for key in keys))

    asyncio.run(everything())
    chosen = [node for item in known.workloads for node in item.status.get("assignedNodes", [])]
    # Twelve places: four workloads, and none of the fifth, which waits for what is promised.
    assert {chosen.count(f"n{number}") for number in range(1, 5)} == {3}
    assert [item.reason for item in known.workloads].count("Contested") == 1


def test_a_look_without_a_change_writes_nothing() -> None:
    known = caches()
    known.workloads.put(KEY, 1, workload())
    looked, api = controller(known)
    for _ in range(3):
        asyncio.run(looked.look(KEY))
    assert len(api.woken) == 1
    assert api.told == ["Scheduling"]


def test_figures_of_failures_and_retries() -> None:
    known = caches()
    known.workloads.put(KEY, 1, workload(gpuCount=8, retryPolicy={"maxRetries": 1}))
    looked, _ = controller(known)
    counted = {"reason": "no_suitable_node"}
    before = figure("failed_total", **counted), figure("retries_total")
    took = figure("reconcile_duration_seconds_count", result="success")
    wait = asyncio.run(looked.look(KEY))
    assert wait is not None
    assert 30 <= wait <= 35
    assert figure("failed_total", **counted) == before[0] + 1
    assert figure("retries_total") == before[1] + 1
    assert figure("reconcile_duration_seconds_count", result="success") == took + 1


@pytest.mark.parametrize(
    ("code", "result"), [(HTTPStatus.CONFLICT, "superseded"), (HTTPStatus.FORBIDDEN, "error")]
)
def test_a_workload_that_has_changed_meanwhile_is_not_an_error(
    code: HTTPStatus, result: str
) -> None:
    known = caches()
    known.workloads.put(KEY, 1, workload())
    looked, api = controller(known)
    api.fails = api_error(code)
    before = figure("reconcile_duration_seconds_count", result=result)
    with nullcontext() if result == "superseded" else pytest.raises(ApiError, match="Forbidden"):
        assert asyncio.run(looked.look(KEY)) is None
    assert figure("reconcile_duration_seconds_count", result=result) == before + 1


def test_a_strategy_that_fails_stops_nobody_else() -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError

    known = caches()
    known.workloads.put(KEY, 1, workload(schedulingStrategy="broken"))
    looked, _ = controller(known)
    looked._strategies = {"broken": broken}  # noqa: SLF001
    asyncio.run(looked.look(KEY))
    item = known.workloads.get(KEY)
    assert item is not None
    assert item.reason == "NoSuitableNode"
    assert "strategy `broken` has failed: ZeroDivisionError()" in item.status["message"]


def test_events_are_emitted_for_what_matters() -> None:
    def events(before: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, str]]:
        return [(said.type, said.reason) for said in transitions(before, now)]

    creating = SCHEDULING | {"reason": "Creating"}
    assert events({}, SCHEDULING | {"reason": "Scheduling"}) == [("Normal", "Scheduling")]
    assert events(SCHEDULING, creating) == []
    assert events(creating, RUNNING) == [("Normal", "Running")]
    assert events(RUNNING, RUNNING | {"message": "more"}) == []
    failed = RUNNING | {"phase": "Pending", "reason": "NonZeroExit", "retryCount": 1}
    assert events(RUNNING, failed) == [("Warning", "NonZeroExit")]
    assert events(failed, failed | {"retryCount": 2}) == [("Warning", "NonZeroExit")]
