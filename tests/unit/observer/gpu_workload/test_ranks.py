"""Workloads of several pods: they run together, and one that fails ends the attempt."""

from __future__ import annotations

import doctest
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from devctl_observer.kinds.gpu_workload import ongoing, placement
from devctl_observer.kinds.gpu_workload.ongoing import by_rank
from devctl_observer.kinds.gpu_workload.placement import Choice, Place, choose_all
from devctl_observer.kinds.gpu_workload.strategies import BUILT_IN, Demand
from devctl_observer.watching.store import Key
from hypothesis import given
from hypothesis import strategies as st
from lightkube.models.core_v1 import ObjectReference

from unit.observer.gpu_workload.test_placement import needs, place
from unit.observer.gpu_workload.things import (
    CHOSEN,
    NAMESPACE,
    RUNNING,
    SCHEDULING,
    at,
    disrupted,
    exited,
    job,
    pod,
    rank,
    seen,
    status_of,
    told,
    workload,
)
from unit.observer.running import idle_observer, workloads_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl_observer.kinds.gpu_workload.observed import Observed
    from lightkube.resources.core_v1 import Pod

BOTH = {"assignedNodes": ["n1", "n2"]}
TWO = CHOSEN._replace(others=("n2",))
DELETED = {"deletionTimestamp": at(25), "deletionGracePeriodSeconds": 30}
"""Deleted 5 s ago."""


def never() -> Choice:
    raise AssertionError("no choice is due")


def pair(*pods: Pod, status: dict[str, Any] = RUNNING, ended: str = "", **of: Any) -> Observed:
    """An attempt with two pods, some of which are there."""
    reason = of.pop("reason", "BackoffLimitExceeded" if ended == "Failed" else "")
    its = job(ended=ended, reason=reason, completions=2, parallelism=2)
    return seen(workload(status | BOTH, nodes=2), **{"job": its, "pods": pods} | of)


def state(*pods: Pod, seconds: float = 0, **of: Any) -> dict[str, Any]:
    return status_of(pair(*pods, **of), seconds, never)


def test_the_choice_of_several_nodes_is_in_the_status() -> None:
    status = status_of(seen(workload(nodes=2)), choose=TWO)
    assert (status["assignedNode"], status["assignedNodes"]) == ("n1", ["n1", "n2"])
    assert status["message"] == "nodes `n1`, `n2` were chosen; its Job is about to be created"
    again = status_of(seen(workload(status, nodes=2)), 5, never)
    assert again["assignedNodes"] == ["n1", "n2"]
    assert again["message"] == status["message"]


def test_one_pod_has_one_node() -> None:
    status = status_of(seen(workload(nodes=1)))
    assert "assignedNodes" not in status


def test_it_says_how_many_have_a_node_and_who_waits() -> None:
    full = {"reason": "Unschedulable", "message": "0/2 nodes: 2 Insufficient nvidia.com/gpu."}
    waits = rank(1, "Pending", None, scheduled=full)
    status = state(rank(0), waits, status=SCHEDULING)
    assert told(status) == ("Scheduling", "Unschedulable")
    assert status["message"].startswith("1 of 2 pods have a node; rank 1: ")
    # As for one pod, that is not for ever.
    status = state(rank(0), waits, status=SCHEDULING, seconds=281)
    assert told(status) == ("Pending", "Unschedulable")
    assert status["message"].startswith("rank 1: ")


def test_a_pod_that_is_not_there_yet_is_waited_for() -> None:
    status = state(rank(1), status=SCHEDULING)
    assert told(status) == ("Scheduling", "Creating")
    assert status["message"] == ("1 of 2 pods have a node; rank 0: its pod is about to be created")


def test_it_runs_once_all_run() -> None:
    starting = rank(1, "Pending", "n2", state={"waiting": {"reason": "ContainerCreating"}})
    status = state(rank(0), starting, status=SCHEDULING)
    assert told(status) == ("Scheduled", "Creating")
    assert status["message"].startswith("1 of 2 pods run; rank 1: ")
    assert "startedAt" not in status
    status = state(rank(0), rank(1, node="n2"), status=SCHEDULING)
    assert told(status) == ("Running", "Running")
    assert status["message"] == "its program is running in 2 pods, on `n1`, `n2`"
    assert status["startedAt"] == at(-10)


def test_the_nodes_are_those_of_the_pods_by_rank() -> None:
    status = state(rank(0, node="n2"), rank(1, "Pending", None), status=SCHEDULING)
    assert (status["assignedNode"], status["assignedNodes"]) == ("n2", ["n2", "n1"])
    status = state(rank(0, node="n3"), rank(1, node="n3"), nodes=frozenset({"n3"}))
    assert status["assignedNodes"] == ["n3", "n3"]


def test_a_change_of_the_spec_is_for_the_next_attempt() -> None:
    item = workload(RUNNING, nodes=2)
    status = status_of(seen(item, job=job(), pod=pod()), choose=never)
    assert told(status) == ("Running", "Running")
    assert "assignedNodes" not in status
    item = workload(RUNNING | BOTH, nodes=1)
    its = job(completions=2)
    status = status_of(seen(item, job=its, pods=[rank(0)]), choose=never)
    assert told(status) == ("Scheduling", "Creating")


def test_a_rank_that_is_done_waits_for_the_others() -> None:
    done = rank(0, "Succeeded", "gone", state=exited(0))
    assert told(state(done, rank(1, node="n2"))) == ("Running", "Running")


def test_success_is_that_of_all() -> None:
    early, late = exited(0, startedAt=at(-20)), exited(0, finishedAt=at(-1))
    pods = rank(0, "Succeeded", state=early), rank(1, "Succeeded", state=late)
    status = state(*pods, ended="Complete")
    assert told(status) == ("Succeeded", "Completed")
    assert (status["startedAt"], status["finishedAt"]) == (at(-20), at(-1))
    assert status["assignedNodes"] == ["n1", "n2"]


FIRST = rank(1, "Failed", "n2", state=exited(7, "boom", finishedAt=at(-9)))


@pytest.mark.parametrize(
    "other",
    [
        rank(0, "Failed", state=exited(1, "connection reset")),
        # Kubernetes has ended it, because the other one failed.
        rank(0, "Failed", state=exited(143, finishedAt=at(-4)), meta=DELETED),
        rank(0, "Pending", None, meta=DELETED),
        rank(0, "Succeeded", state=exited(0, finishedAt=at(-10))),
        rank(0),
    ],
)
def test_an_attempt_ends_as_the_rank_that_failed_first(other: Pod) -> None:
    status = state(other, FIRST, ended="Failed")
    assert told(status) == ("Pending", "NonZeroExit")
    assert status["message"].startswith("rank 1: exit code 7: boom; retry 1 of 3 at ")
    assert (status["attempt"], status["retryCount"], status["exitCode"]) == (1, 1, 7)
    assert {"assignedNode", "assignedNodes", "jobName"}.isdisjoint(status)
    # And so if the pods are gone by then.
    gone = state(ended="Failed", gone=[other, FIRST])
    assert gone["message"] == status["message"]


def test_a_pod_that_is_there_says_more_than_an_earlier_one_of_its_rank() -> None:
    earlier = rank(0, "Failed", state=exited(9, "earlier", finishedAt=at(-99)))
    status = state(rank(0), FIRST, ended="Failed", gone=[earlier])
    assert status["message"].startswith("rank 1: ")


def test_who_was_deleted_first_has_ended_it() -> None:
    later = rank(0, "Failed", state=exited(143), meta=DELETED)
    first = rank(1, "Failed", state=exited(143), meta=DELETED | {"deletionTimestamp": at(20)})
    status = state(later, first, ended="Failed")
    assert told(status) == ("Pending", "PodDeleted")
    assert status["message"].startswith("rank 1: its pod was deleted")


def test_one_that_is_preempted_loses_no_retry() -> None:
    going = rank(1, conditions=[disrupted("PreemptionByScheduler")], meta=DELETED)
    status = state(rank(0), going)
    assert told(status) == ("Running", "Preempted")
    assert status["message"].startswith("rank 1: preempted by a pod")
    status = state(rank(0), going, status=SCHEDULING | {"phase": "Scheduling"})
    assert status["reason"] == "Preempted"
    # The other rank fails, because it hears nothing from it.
    reset = rank(0, "Failed", state=exited(1, "connection reset"))
    status = state(reset, going, ended="Failed")
    assert told(status) == ("Pending", "Preempted")
    assert status["retryCount"] == 0


def test_a_lost_node_of_one_ends_all() -> None:
    going = rank(1, node="n9", meta=DELETED)
    assert told(state(rank(0), going, seconds=20)) == ("Running", "NodeNotReady")
    status = state(rank(0), going, seconds=26)
    assert told(status) == ("Pending", "NodeLost")
    assert status["message"].startswith("rank 1: node `n9` was lost")
    unseen = pair(ended="Failed", reason="PodFailurePolicy", nodes=frozenset({"n1"}))
    assert told(status_of(unseen, choose=never)) == ("Pending", "NodeLost")


def test_in_a_queue_nodes_are_told_once_all_are_known() -> None:
    none = {"assignedNode": None, "assignedNodes": None}
    item = workload(SCHEDULING | none, nodes=2, queueName="gpus")
    its, waits = job(completions=2), rank(1, "Pending", None)
    status = status_of(seen(item, job=its, pods=[rank(0), waits]), choose=never)
    assert status["assignedNode"] == "n1"
    assert "assignedNodes" not in status
    held = job(completions=2, suspend=True)
    status = status_of(seen(workload(RUNNING | BOTH, nodes=2), job=held), choose=never)
    assert told(status) == ("Pending", "Queued")
    assert {"assignedNode", "assignedNodes"}.isdisjoint(status)


def choice(strategy: str, count: int, *places: Place, gpus: int = 2) -> Choice:
    demand = Demand(gpus, "m", "seed")
    return choose_all(BUILT_IN[strategy], demand, needs(gpus), places, count)


def test_each_choice_counts_the_earlier_ones() -> None:
    nodes = place("a", used=2), place("b")
    assert choice("leastLoaded", 3, *nodes).nodes == ["b", "a", "b"]
    assert choice("packed", 4, *nodes).nodes == ["a", "a", "a", "b"]
    assert choice("leastLoaded", 1, *nodes).nodes == ["b"]
    one, three = (choice("leastLoaded", count, *nodes) for count in (1, 3))
    assert one.considered == three.considered


def test_a_lot_is_drawn_for_each() -> None:
    nodes = [place(name) for name in "abcdefgh"]
    assert len(set(choice("random", 8, *nodes, gpus=1).nodes)) > 1
    assert choice("random", 8, *nodes).nodes == choice("random", 8, *nodes).nodes


def test_all_get_a_node_or_none() -> None:
    found = choice("leastLoaded", 3, place("a"), place("b", used=6), gpus=4)
    assert (found.nodes, found.contested) == ([], False)
    assert found.problem == (
        "2 of 3 pods would have a node, but no node has 4 free GPUs for it "
        "(`a`: 0 of 8 GPUs free, `b`: 2 of 8 GPUs free)"
    )
    found = choice("leastLoaded", 2, place("a"), place("b", promised=8), gpus=8)
    assert (found.nodes, found.contested) == ([], True)
    assert choice("leastLoaded", 2, place("a", used=8), gpus=8).problem.startswith("no node has")


def test_pods_of_a_lower_priority_make_room_for_several() -> None:
    full = place("a", used=8, lower=4)
    assert choice("leastLoaded", 2, full).nodes == ["a", "a"]
    assert choice("leastLoaded", 3, full).nodes == []
    assert choice("leastLoaded", 2, full, place("b", used=6)).nodes == ["b", "a"]


@given(st.lists(st.integers(0, 8), min_size=1, max_size=6), st.integers(1, 8), st.integers(1, 12))
def test_no_node_is_ever_chosen_too_often(used: list[int], gpus: int, count: int) -> None:
    nodes = [place(f"n{number}", used=taken) for number, taken in enumerate(used)]
    room = sum((8 - taken) // gpus for taken in used)
    for strategy in BUILT_IN:
        found = choice(strategy, count, *nodes, gpus=gpus).nodes
        assert len(found) == (count if count <= room else 0)
        for node in nodes:
            taken = node.used["nvidia.com/gpu"] + found.count(node.node.name) * gpus
            assert taken <= Decimal(8) or not found


@given(st.lists(st.sampled_from("ab"), max_size=5), st.lists(st.sampled_from(["", "a", "c"])))
def test_every_pod_keeps_its_node(chosen: Sequence[str], nodes: Sequence[str]) -> None:
    found = by_rank(nodes, chosen)
    assert len(found) == len(nodes)
    assert all(now == node for node, now in zip(nodes, found, strict=True) if node)
    assert by_rank([""] * len(chosen), chosen) == list(chosen)


@pytest.mark.parametrize(
    ("kind", "name", "there", "owner"),
    [
        ("Job", "one-1", ["one"], "one"),
        ("Pod", "one-1-abcde", ["one"], "one"),
        ("Pod", "one-1-1-abcde", ["one"], "one"),
        # Named alike: a pod that nobody knows is taken for the only one.
        ("Pod", "one-1-1-abcde", ["one", "one-1"], "one-1"),
        ("Pod", "one-1-2-abcde", ["one", "one-1"], "one"),
        ("Pod", "other", ["one"], None),
        ("Node", "one-1-1-abcde", ["one"], None),
    ],
)
def test_a_warning_finds_the_workload_of_a_rank(
    kind: str, name: str, there: list[str], owner: str | None
) -> None:
    family = workloads_of(idle_observer())
    for each in there:
        family.store.put(Key(NAMESPACE, each), 1, workload(meta={"name": each}))
    family.caches.children.pods.put(Key(NAMESPACE, "one-1-2-abcde"), 1, rank(2))
    about = ObjectReference(kind=kind, name=name, namespace=NAMESPACE)
    assert family.of_child(about) == (Key(NAMESPACE, owner) if owner else None)


def test_examples_in_docstrings() -> None:
    for module in (ongoing, placement):
        assert doctest.testmod(module).failed == 0
