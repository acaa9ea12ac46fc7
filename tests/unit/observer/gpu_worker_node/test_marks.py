"""Labels and slots of Nodes: what they follow, when they go, and what is left alone."""

from __future__ import annotations

import asyncio
import doctest
from typing import TYPE_CHECKING, Any, cast

import pytest
from devctl_observer.control.process import Clock
from devctl_observer.kinds.gpu_worker_node import labels as module
from devctl_observer.kinds.gpu_worker_node.family import Workers
from devctl_observer.kinds.gpu_worker_node.labels import change, chosen, wanted
from devctl_observer.kinds.gpu_worker_node.model import KIND, Worker
from devctl_observer.observer import Observer
from devctl_observer.watching.kept import node_facts
from devctl_observer.watching.store import Key
from hypothesis import given
from hypothesis import strategies as st
from lightkube.resources.core_v1 import Node

from devctl.api.gpu_worker_job import SLOTS
from devctl.api.gpu_worker_node import GPU_MEMORY, PRICES, STATE, State
from unit.observer.objects import NOW, ago, node

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl_observer.control.kind import Kind
    from devctl_observer.judging.model import Meta

NODE = "node-a"
OURS = {STATE: "active", GPU_MEMORY: "24576", PRICES: "1.20_0.03_0.00"}

Thing = dict[str, Any]


def worker(name: str = "gpu-1", metadata: Thing | None = None, **spec: Any) -> Worker:
    given: Thing = {"nodeName": NODE, "gpuCount": 2, "gpuMemoryMegabytes": 24576}
    given["maxConcurrentJobs"] = 2
    given["prices"] = {"perGPUHour": "1.2", "perCoreHour": "0.03"}
    return KIND.parse(
        {
            "metadata": {
                "name": name,
                "uid": name,
                "generation": 3,
                "creationTimestamp": ago(hours=1),
                **(metadata or {}),
            },
            "spec": {**given, "state": "active", **spec},
        }
    )


class FakeApi:
    """Remembers what is written."""

    def __init__(self) -> None:
        self.labels: list[tuple[str, Mapping[str, str | None]]] = []
        self.slots: list[tuple[str, Mapping[str, str | None]]] = []
        self.statuses: dict[str, Thing] = {}

    async def label(self, kind: Kind[Any], meta: Meta, labels: Mapping[str, str | None]) -> bool:
        assert kind.path(meta) == f"api/v1/nodes/{meta.name}"
        self.labels.append((meta.name, labels))
        return True

    async def offer(self, kind: Kind[Any], meta: Meta, amounts: Mapping[str, str | None]) -> bool:
        assert kind.name == "Node"
        self.slots.append((meta.name, amounts))
        return True

    async def apply_status(self, kind: Kind[Any], meta: Meta, status: Thing) -> Thing:
        assert kind is KIND
        self.statuses[meta.name] = status
        spec = {"nodeName": NODE}
        return {"metadata": {"name": meta.name, "uid": meta.uid}, "spec": spec, "status": status}


class Alone:
    """A process that has this kind alone."""

    def __init__(self) -> None:
        self.api = FakeApi()
        clock = Clock(now=lambda: NOW)
        self.observer = Observer(cast("Any", None), cast("Any", self.api), clock, "gpu_worker_node")
        (family,) = self.observer.families
        assert isinstance(family, Workers)
        self.family = family
        self.added: list[str] = []
        family.queue.add = lambda key: self.added.append(key.name)  # type: ignore[method-assign]

    def node(self, labels: Mapping[str, str], slots: str | None) -> None:
        allocatable = {"cpu": "4"} | ({SLOTS: slots} if slots else {})
        found = node(NODE, labels={"gpu": "a", **labels}, allocatable=allocatable)
        self.observer.children.nodes.put(Key("", NODE), 0, node_facts(found))

    def has(self, *workers: Worker) -> None:
        for each in workers:
            self.family.store.put(Key("", each.metadata.name), 0, each)

    def look(self) -> None:
        asyncio.run(self.family.controller.look(Key("", NODE)))


@pytest.fixture
def alone() -> Alone:
    return Alone()


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0


def test_a_node_gets_the_state_the_memory_of_its_gpus_and_a_slot_for_each_job(
    alone: Alone,
) -> None:
    alone.node({}, None)
    alone.has(worker())
    alone.look()
    assert alone.api.labels == [(NODE, OURS)]
    assert alone.api.slots == [(NODE, {SLOTS: "2"})]
    status = alone.api.statuses["gpu-1"]
    assert (status["phase"], status["observedGeneration"]) == ("Labelled", 3)


def test_what_is_right_is_not_written_again(alone: Alone) -> None:
    alone.node(OURS, "2")
    alone.has(worker())
    alone.look()
    assert (alone.api.labels, alone.api.slots) == ([], [])


def test_slots_that_a_kubelet_has_zeroed_come_back(alone: Alone) -> None:
    alone.node(OURS, "0")
    alone.has(worker())
    alone.look()
    assert alone.api.labels == []
    assert alone.api.slots == [(NODE, {SLOTS: "2"})]


@pytest.mark.parametrize("state", State)
def test_in_every_state_running_jobs_keep_their_slots(state: State) -> None:
    found = wanted(worker(state=state))
    assert found.slots == "2"
    assert found.labels[STATE] == state


def test_a_node_without_an_object_loses_what_is_ours_and_nothing_else(alone: Alone) -> None:
    alone.node(OURS, "2")
    alone.look()
    assert alone.api.labels == [(NODE, dict.fromkeys(OURS))]
    assert alone.api.slots == [(NODE, {SLOTS: None})]


def test_of_two_with_one_node_the_older_one_has_it_and_the_other_says_so(alone: Alone) -> None:
    alone.node({}, None)
    old = worker("gpu-9", {"creationTimestamp": ago(hours=2)}, maxConcurrentJobs=7)
    alone.has(worker("gpu-1"), old)
    alone.look()
    assert alone.api.slots == [(NODE, {SLOTS: "7"})]
    assert alone.api.statuses["gpu-9"]["phase"] == "Labelled"
    other = alone.api.statuses["gpu-1"]
    assert other["phase"] == "Absent"
    assert other["conditions"][0]["reason"] == "Taken"
    assert "belongs to GPUWorkerNode `gpu-9`, which is older" in other["message"]


def test_one_that_is_being_deleted_leaves_its_node_to_the_next() -> None:
    going = worker("gpu-1", {"deletionTimestamp": ago(seconds=1), "creationTimestamp": ago(days=1)})
    next_one = worker("gpu-2")
    assert chosen([next_one, going]) is next_one
    assert chosen([going]) is chosen([]) is None


def test_without_its_node_it_says_so_until_one_joins(alone: Alone) -> None:
    alone.has(worker())
    alone.look()
    status = alone.api.statuses["gpu-1"]
    assert status["phase"] == "Absent"
    assert status["conditions"][0]["reason"] == "NoNode"
    assert "the cluster has no node `node-a`" in status["message"]
    alone.node({}, None)
    alone.look()
    assert alone.api.statuses["gpu-1"]["phase"] == "Labelled"


@given(
    has=st.dictionaries(st.sampled_from([*OURS]), st.text(max_size=5)),
    wants=st.dictionaries(st.sampled_from([*OURS]), st.text(max_size=5)),
)
def test_a_change_leads_to_exactly_what_is_wanted(
    has: dict[str, str], wants: dict[str, str]
) -> None:
    after = {k: v for k, v in (has | change(has, wants)).items() if v is not None}
    assert after == wants
    assert change(after, wants) == {}


def test_an_object_that_names_another_node_concerns_both(alone: Alone) -> None:
    alone.observer.families[0].changed(worker(), worker(nodeName="node-b"))
    assert sorted(alone.added) == ["node-a", "node-b"]
    alone.observer.families[0].changed(worker(), None)
    assert alone.added[2:] == ["node-a"]


def test_which_changes_of_a_node_matter(alone: Alone) -> None:
    def facts(slots: str = "2", **labels: str) -> Any:
        found = node(NODE, labels=labels, allocatable={"cpu": "4", SLOTS: slots})
        return node_facts(found)

    plain, other, marked = facts(), facts(gpu="b"), facts(**{STATE: "error"})
    alone.observer.node(plain, other)
    assert alone.added == []
    for old, new in ((None, plain), (plain, marked), (plain, facts("0")), (plain, None)):
        alone.observer.node(old, new)
    assert alone.added == [NODE] * 4


def test_after_a_step_of_the_clock_all_nodes_are_looked_at(alone: Alone) -> None:
    alone.node({}, None)
    alone.has(worker(nodeName="node-z"))
    alone.observer.look_again()
    assert alone.added == [NODE, "node-z"]


def test_a_process_of_its_own_watches_nothing_else(alone: Alone) -> None:
    assert [each.kind for each in alone.observer.shared] == [Node]
    assert alone.family.others == ()
