"""What the role `gpu_worker_job` renders and removes."""

from __future__ import annotations

import doctest
from typing import Any

import pytest
from gpu_worker_job import affinity, job
from gpu_worker_job import values as values_module
from gpu_worker_job.values import identity, values
from hypothesis import given
from hypothesis import strategies as st
from unit.plugins.templates import CONFINED_CONTAINER, CONFINED_POD, HOSTILE, TEXT, rendered

from devctl.api import gpu_worker_job as words
from devctl.api.queues import QUEUE_NAME

Thing = dict[str, Any]
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


def children(of: Thing) -> dict[str, Thing]:
    """What is created, by kind."""
    names = values(of, jobs=[]).names
    return {thing["kind"]: thing for thing in rendered("gpu_worker_job", dict(names))}


def pod(of: Thing) -> Thing:
    """The spec of the Job's pods."""
    found: Thing = children(of)["Job"]["spec"]["template"]["spec"]
    return found


def test_examples() -> None:
    for module in (words, job, affinity, values_module):
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


@pytest.mark.parametrize(
    ("strategy", "kind"),
    [
        ("leastLoaded", "podAntiAffinity"),
        ("packed", "podAffinity"),
        ("costOptimized", "nodeAffinity"),
        ("cacheAware", ""),
        ("random", ""),
    ],
)
def test_a_strategy_is_what_the_scheduler_prefers(strategy: str, kind: str) -> None:
    found = pod(item(schedulingStrategy=strategy))["affinity"]
    prefer = "preferredDuringSchedulingIgnoredDuringExecution"
    assert [name for name, terms in found.items() if prefer in terms] == ([kind] if kind else [])
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
    found = values(of, jobs=[own, others, going]).remove
    assert found == ([own] if removed else [])


def test_all_that_is_its_own_says_so() -> None:
    assert identity(item()) == {
        "app.kubernetes.io/managed-by": "devctl",
        "imagepod.dev/gpuworkerjob": "job-1",
    }
