"""What the role `gpu_worker_job` renders and removes."""

from __future__ import annotations

import doctest
from typing import Any

import pytest
from gpu_worker_job import affinity, costs, job
from gpu_worker_job import values as values_module
from gpu_worker_job.values import identity, values
from hypothesis import given
from hypothesis import strategies as st
from unit.plugins.templates import CONFINED_CONTAINER, CONFINED_POD, HOSTILE, TEXT, rendered

from devctl.api import gpu_worker_job as words
from devctl.api import gpu_worker_node as node_words
from devctl.api.prices import write_amount
from devctl.api.queues import QUEUE_NAME

Thing = dict[str, Any]
STRATEGIES = ("leastLoaded", "packed", "costOptimized", "cacheAware", "random")
EXPIRED = {"phase": "Completed", "conditions": [{"type": "JobExpired", "status": "True"}]}


def item(status: Thing | None = None, **spec: Any) -> Thing:
    """A GPUWorkerJob; its spec has the schema's defaults, except for the given fields."""
    defaults = {
        "owner": "acc-1",
        "jobName": "A job",
        "image": "any:1",
        "gpus": 1,
        "gpuMemoryMegabytes": 0,
        "cpuCores": 4,
        "memoryMegabytes": 512,
        "inputData": "{}",
        "priority": "normal",
        "timeoutSeconds": 60,
        "retries": 2,
        "cancelled": False,
        "schedulingStrategy": "leastLoaded",
    }
    metadata = {"name": "job-1", "namespace": "imagepod", "uid": "u1"}
    return {"metadata": metadata, "spec": defaults | spec, "status": status or {}}


def worker(gpu: str, *, core: str = "0", memory: int = 24576, gpus: int = 2) -> Thing:
    """A GPUWorkerNode, by what it costs."""
    prices = {"perGPUHour": gpu, "perCoreHour": core, "perGigabyteHour": "0"}
    return {"spec": {"gpuCount": gpus, "gpuMemoryMegabytes": memory, "prices": prices}}


def children(of: Thing, *workers: Thing) -> dict[str, Thing]:
    """What is created, by kind."""
    names = values(of, jobs=[], workers=[*workers]).names
    return {thing["kind"]: thing for thing in rendered("gpu_worker_job", dict(names))}


def pod(of: Thing, *workers: Thing) -> Thing:
    """The spec of the Job's pods."""
    found: Thing = children(of, *workers)["Job"]["spec"]["template"]["spec"]
    return found


def test_examples() -> None:
    for module in (words, node_words, job, affinity, costs, values_module):
        assert doctest.testmod(module).failed == 0


def test_its_pods_are_confined() -> None:
    found = pod(item())
    (container,) = found["containers"]
    assert found["securityContext"].items() >= CONFINED_POD.items()
    assert container["securityContext"] == CONFINED_CONTAINER
    assert found["automountServiceAccountToken"] is False


def test_it_takes_what_was_asked_for_and_a_slot() -> None:
    (container,) = pod(item(gpus=2))["containers"]
    whole = {"nvidia.com/gpu": "2", "imagepod.dev/job-slots": "1", "memory": "512Mi"}
    assert container["resources"] == {"requests": {**whole, "cpu": "4"}, "limits": whole}
    (container,) = pod(item(gpus=0))["containers"]
    assert "nvidia.com/gpu" not in container["resources"]["limits"]


def test_it_goes_to_active_nodes_with_enough_gpu_memory() -> None:
    affinity = pod(item(gpuMemoryMegabytes=8192))["affinity"]["nodeAffinity"]
    ((term,),) = affinity.values() and [
        affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    ]
    assert term["matchExpressions"] == [
        {"key": "imagepod.dev/worker", "operator": "In", "values": ["active"]},
        {"key": "imagepod.dev/gpu-memory-megabytes", "operator": "Gt", "values": ["8191"]},
    ]


def test_the_job_of_a_queue_waits_to_be_admitted() -> None:
    queued, other = children(item(queueName="q"))["Job"], children(item())["Job"]
    assert queued["metadata"]["labels"][QUEUE_NAME] == "q"
    assert queued["spec"]["suspend"] is True
    assert QUEUE_NAME not in other["metadata"]["labels"]
    assert "suspend" not in other["spec"]


def test_each_run_has_its_time() -> None:
    spec = children(item(retries=3, timeoutSeconds=90))["Job"]["spec"]
    assert spec["backoffLimit"] == 3
    assert spec["template"]["spec"]["activeDeadlineSeconds"] == 90
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    # That would count the time in a queue.
    assert "activeDeadlineSeconds" not in spec


PREFER = "preferredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("strategy", "kinds"),
    [
        ("leastLoaded", ["spread"]),
        ("packed", ["podAffinity"]),
        ("costOptimized", ["nodeAffinity"]),
        ("cacheAware", []),
        ("random", []),
    ],
)
def test_a_strategy_is_what_the_scheduler_prefers(strategy: str, kinds: list[str]) -> None:
    spec = pod(item(schedulingStrategy=strategy))
    found = spec["affinity"]
    preferred = [name for name, terms in found.items() if PREFER in terms]
    assert preferred + ["spread"] * ("topologySpreadConstraints" in spec) == kinds
    assert "requiredDuringSchedulingIgnoredDuringExecution" in found["nodeAffinity"]


def test_its_pods_see_their_own_folder_of_the_claim_and_nothing_without_one() -> None:
    found = pod(item(artifactsClaim="kept"))
    (container,) = found["containers"]
    mount = {"name": "artifacts", "mountPath": "/artifacts", "subPath": "job-1"}
    assert [each for each in container["volumeMounts"] if each["name"] == "artifacts"] == [mount]
    volume = {"name": "artifacts", "persistentVolumeClaim": {"claimName": "kept"}}
    assert volume in found["volumes"]
    assert found["securityContext"].items() >= CONFINED_POD.items()
    without = pod(item())
    assert "artifacts" not in {each["name"] for each in without["volumes"]}
    assert "/artifacts" not in {
        each["mountPath"] for each in without["containers"][0]["volumeMounts"]
    }


def test_no_strategy_draws_or_repels_the_pods_of_another() -> None:
    items = {name: item(schedulingStrategy=name) for name in STRATEGIES}
    labels = {
        name: children(each)["Job"]["spec"]["template"]["metadata"]["labels"]
        for name, each in items.items()
    }
    for name, each in items.items():
        found = pod(each)["affinity"]
        assert "podAntiAffinity" not in found
        for term in found.get("podAffinity", {}).get(PREFER, []):
            wanted = term["podAffinityTerm"]["labelSelector"]["matchLabels"].items()
            assert [other for other in labels if labels[other].items() >= wanted] == [name]


def preferred(of: Thing, *workers: Thing) -> dict[str, int]:
    """The weight of each price."""
    found = dict[str, int]()
    for term in pod(of, *workers)["affinity"]["nodeAffinity"][PREFER]:
        assert 1 <= term["weight"] <= 100
        (expression,) = term["preference"]["matchExpressions"]
        for value in expression["values"]:
            found[value] = found.get(value, 0) + term["weight"]
    return found


def test_what_costs_this_very_job_less_is_preferred() -> None:
    many_cores, many_gpus = worker("1", core="0.10"), worker("2", core="0.01")
    job: Thing = {"schedulingStrategy": "costOptimized", "gpuMemoryMegabytes": 8192}
    assert preferred(item(**job, gpus=1, cpuCores=32), many_cores, many_gpus).keys() == {
        "2.00_0.01_0.00"
    }
    assert preferred(item(**job, gpus=2, cpuCores=1), many_cores, many_gpus).keys() == {
        "1.00_0.10_0.00"
    }


def test_nodes_that_cost_the_same_are_preferred_alike() -> None:
    found = preferred(
        item(schedulingStrategy="costOptimized", cpuCores=1),
        worker("1.00"),
        worker("0.50", core="0.50"),
        worker("9"),
    )
    assert len(found) == 2
    assert len({*found.values()}) == 1


def test_only_nodes_that_could_take_it_count() -> None:
    job = item(schedulingStrategy="costOptimized", gpus=2, gpuMemoryMegabytes=8192)
    found = preferred(job, worker("1", memory=4096), worker("2", gpus=1), worker("3"), worker("4"))
    assert found.keys() == {"3.00_0.00_0.00"}


@pytest.mark.parametrize("workers", [[], [worker("1")], [worker("1"), worker("1.00")]], ids=len)
def test_without_a_difference_in_price_a_label_says_which_are_cheap(workers: list[Thing]) -> None:
    found = pod(item(schedulingStrategy="costOptimized"), *workers)["affinity"]["nodeAffinity"]
    ((term,),) = [found[PREFER]]
    assert term["preference"]["matchExpressions"][0]["key"] == "gpu-orchestrator/cheap-node"


@given(st.lists(st.integers(0, 10**9), unique=True, min_size=2, max_size=12))
def test_the_cheaper_of_two_always_outweighs_being_emptier(amounts: list[int]) -> None:
    workers = [worker(write_amount(amount)) for amount in amounts]
    found = preferred(item(schedulingStrategy="costOptimized"), *workers)
    cheapest = sorted(amounts)
    labels = [node_words.Prices(amount).label for amount in cheapest]
    weights = [found.get(label, 0) for label in labels]
    told = min(len(amounts) - 1, costs.LEVELS)
    assert weights == sorted(weights, reverse=True)
    assert all(weights[:told])
    assert not any(weights[told:])
    # Which nodes have room, the scheduler knows: the best of them gets 200 points.
    for first in range(told):
        scaled = [2 * (100 * each // weights[first]) for each in weights[first:]]
        assert scaled[0] - scaled[1] >= 160


@given(TEXT, st.lists(TEXT, min_size=1, max_size=3))
def test_any_text_reaches_the_program_unchanged(text: str, command: list[str]) -> None:
    of = item(inputData=text, command=command, env=[{"name": "OWN", "value": text}])
    found = children(of)
    assert found["ConfigMap"]["data"] == {"input.json": text}
    (container,) = found["Job"]["spec"]["template"]["spec"]["containers"]
    given_ = {entry["name"]: entry["value"] for entry in container["env"]}
    # The kubelet makes one of two, and expands nothing.
    assert given_["OWN"] == given_["INPUT_DATA"] == text.replace("$", "$$")
    assert container["command"] == command


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_text(text: str) -> None:
    assert children(item(inputData=text))["ConfigMap"]["data"]["input.json"] == text


@pytest.mark.parametrize(
    ("of", "kinds"),
    [
        (item(), {"ConfigMap", "Job"}),
        (item({"phase": "Running", "jobName": "job-1"}), {"ConfigMap"}),
        (item({"phase": "Failed", "jobName": "job-1"}), set()),
        (item(cancelled=True), set()),
        (item(EXPIRED), set()),
    ],
    ids=["new", "runs", "failed", "cancelled", "expired"],
)
def test_the_job_is_made_once(of: Thing, kinds: set[str]) -> None:
    assert set(children(of)) == kinds


@pytest.mark.parametrize(
    ("of", "ended", "removed"),
    [
        (item(), "", False),
        (item({"phase": "Completed"}), "Complete", False),
        (item({"phase": "Running"}, cancelled=True), "", True),
        # Its logs are kept.
        (item({"phase": "Running"}, cancelled=True), "Complete", False),
        (item({"phase": "Failed"}, cancelled=True), "Failed", False),
        # Its pod cannot start, or is on a node that is lost.
        (item({"phase": "Failed"}), "", True),
        (item(EXPIRED), "Complete", True),
    ],
    ids=["new", "completed", "cancelled", "late", "failed", "stuck", "expired"],
)
def test_the_job_is_removed_by_a_decision_only(of: Thing, ended: str, *, removed: bool) -> None:
    said = [{"type": ended, "status": "True"}] if ended else []
    own: Thing = {"status": {"conditions": said}}
    own |= {"metadata": {"name": "job-1", "ownerReferences": [{"uid": "u1"}]}}
    others = {"metadata": {"name": "job-1", "ownerReferences": [{"uid": "u0"}]}}
    going: Thing = {"metadata": {**own["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    found = values(of, jobs=[own, others, going], workers=[]).remove
    assert found == ([own] if removed else [])


def test_all_that_is_its_own_says_so() -> None:
    assert identity(item()) == {
        "app.kubernetes.io/managed-by": "devctl",
        "imagepod.dev/gpuworkerjob": "job-1",
    }
