"""A GPUWorkerJob, from its creation to its end."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from support.gpu_worker_jobs import WorkerJob, registered
from support.plane.content import NODES
from support.plane.scenarios import FAILS, NO_IMAGE
from support.servers import wait_until

from devctl.api.gpu_worker_job import APP, JOB_APP, SLOTS
from devctl.api.gpu_worker_node import STATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.phased import Thing
    from support.plane.plane import Plane

pytestmark = pytest.mark.usefixtures("deployed", "nodes")
SMALL, LARGE = NODES


@pytest.fixture
def nodes(kubectl: Kubectl) -> Iterator[None]:
    with registered(kubectl.api, {SMALL: 8192, LARGE: 24576}):
        yield


@pytest.fixture
def one(kubectl: Kubectl, namespace: str) -> Iterator[WorkerJob]:
    made = WorkerJob(kubectl.api, namespace, "job-1")
    yield made
    made.delete()


def test_it_runs_where_its_gpu_memory_is_and_is_recorded(one: WorkerJob) -> None:
    data = json.dumps({"epochs": 3})
    one.apply(gpuMemoryMegabytes=16384, inputData=data)
    running = one.wait("Running")
    assert running["node"] == LARGE
    (pod,) = one.pods()
    (container,) = pod["spec"]["containers"]
    assert container["resources"]["limits"][SLOTS] == "1"
    given = {entry["name"]: entry["value"] for entry in container["env"]}
    assert given["INPUT_DATA"] == data
    config = one.api.get("configmap", "job-1-input", one.namespace)
    assert config
    assert config["data"] == {"input.json": data}
    assert pod["metadata"]["labels"]["app"] == JOB_APP
    assert one.job
    assert one.job["metadata"]["labels"]["app"] == APP
    (run,) = running["runs"]
    assert (run["podUID"], run["node"]) == (pod["metadata"]["uid"], LARGE)
    assert "finishedAt" not in run
    one.end()
    ended = one.wait("Completed")
    (run,) = ended["runs"]
    assert (run["exitCode"], ended["exitCode"]) == (0, 0)
    assert run["startedAt"] <= run["finishedAt"] == ended["finishedAt"]
    assert one.condition("Succeeded")["status"] == "True"


def test_a_failure_says_why_and_each_retry_is_a_run(one: WorkerJob) -> None:
    one.apply(command=["sh", "-c", FAILS], retries=1)
    failed = one.wait("Failed", "NonZeroExit", seconds=120)
    assert failed["exitCode"] == 7
    assert "it is broken" in failed["message"]
    assert [run["exitCode"] for run in failed["runs"]] == [7, 7]
    assert len({run["podUID"] for run in failed["runs"]}) == 2


@pytest.mark.parametrize(
    ("needs", "says"),
    [
        ({"gpuMemoryMegabytes": 40000}, "it needs 40000 megabytes of GPU memory"),
        ({"gpus": 8}, "it needs 8 GPUs"),
        ({"cpuCores": 1000}, "it needs 1000 cores"),
        ({"memoryMegabytes": 60000000}, "it needs 60000000 megabytes of memory"),
    ],
)
def test_a_job_that_fits_nowhere_names_what_binds(
    one: WorkerJob, needs: dict[str, int], says: str
) -> None:
    one.apply(**needs)
    waits = one.wait("Pending", "NoNode")
    assert says in waits["message"]
    assert "no node that fits otherwise has more than" in waits["message"]


def test_a_node_in_maintenance_keeps_what_runs_and_gets_nothing_new(
    one: WorkerJob, kubectl: Kubectl, namespace: str
) -> None:
    one.apply()
    one.wait("Running")
    for node in NODES:
        kubectl.api.patch("node", node, {"metadata": {"labels": {STATE: "maintenance"}}})
    other = WorkerJob(kubectl.api, namespace, "job-2")
    other.apply()
    try:
        assert "no node is active" in other.wait("Pending", "NoNode")["message"]
        assert one.status["phase"] == "Running"
        kubectl.api.patch("node", LARGE, {"metadata": {"labels": {STATE: "active"}}})
        assert other.wait("Running")["node"] == LARGE
    finally:
        other.delete()


def test_a_job_that_is_cancelled_ends_and_its_run_is_kept(one: WorkerJob) -> None:
    one.apply()
    one.wait("Running")
    one.apply(cancelled=True)
    cancelled = one.wait("Cancelled")
    (run,) = cancelled["runs"]
    assert run["startedAt"] <= run["finishedAt"]
    wait_until(lambda: not one.job and not one.pods(), "its Job is removed")
    assert one.status["runs"] == [run]


def test_a_job_that_never_ran_is_cancelled_at_once(one: WorkerJob) -> None:
    one.apply(gpus=8)
    one.wait("Pending", "NoNode")
    one.apply(gpus=8, cancelled=True)
    assert "runs" not in one.wait("Cancelled")


def test_a_job_that_has_ended_is_not_cancelled_afterwards(one: WorkerJob) -> None:
    one.apply()
    one.wait("Running")
    one.end()
    before = one.wait("Completed")
    one.apply(cancelled=True)
    after = one.follow(lambda status: status["observedGeneration"] == 2, "it is judged again")
    assert (after["phase"], after["runs"]) == ("Completed", before["runs"])
    wait_until(lambda: not one.api.get("configmap", "job-1-input", one.namespace), "its role ran")
    # Its pod keeps its logs.
    assert one.job
    assert one.pods()


def test_a_job_that_takes_too_long_ends(one: WorkerJob) -> None:
    one.apply(timeoutSeconds=3)
    failed = one.wait("Failed", "DeadlineExceeded")
    (run,) = failed["runs"]
    assert run["startedAt"] < run["finishedAt"]


def test_a_job_in_a_queue_waits_until_it_is_admitted(one: WorkerJob) -> None:
    one.apply(queueName="gpus")
    assert "in queue `gpus`" in one.wait("Pending", "Queued")["message"]
    assert not one.pods()
    # As Kueue does.
    one.api.patch("job", one.name, {"spec": {"suspend": False}}, one.namespace)
    one.wait("Running")


def test_an_image_that_cannot_be_pulled_ends_the_job_after_a_while(
    one: WorkerJob, deployed: Plane
) -> None:
    one.apply(image=NO_IMAGE)
    assert NO_IMAGE in one.wait("Scheduled", "ImagePullFailed")["message"]
    deployed.observer.set_clocks(own=300, server=300)
    try:
        assert "runs" not in one.wait("Failed", "ImagePullFailed")
        wait_until(lambda: not one.job and not one.pods(), "it takes no room any more")
    finally:
        deployed.observer.set_clocks()


def test_a_retry_after_the_loss_of_a_node_is_a_run_on_another_one(one: WorkerJob) -> None:
    one.apply(retries=1)
    first = one.wait("Running")["node"]
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "x", "effect": "NoExecute"}
    one.api.patch("node", first, {"spec": {"taints": [taint]}})
    try:
        again = one.follow(
            lambda status: len(status.get("runs", [])) > 1 and status["phase"] == "Running",
            "it runs again",
        )
        lost, now = again["runs"]
        assert (lost["node"], now["node"]) == (first, again["node"])
        assert again["node"] != first
        assert lost["startedAt"] <= lost["finishedAt"]
        assert "finishedAt" not in now
        one.end()
        assert one.wait("Completed")["runs"][0] == lost
    finally:
        one.api.patch("node", first, {"spec": {"taints": None}})


def test_without_a_word_of_its_node_a_run_ends_when_its_pod_was_given_up(
    one: WorkerJob, deployed: Plane, kubectl: Kubectl
) -> None:
    one.apply()
    node = str(one.wait("Running")["node"])
    (pod,) = one.pods()
    name = pod["metadata"]["name"]
    deployed.kwok.freeze()
    try:
        # As the controllers do; the container is as the kubelet left it.
        silent(one, "node", node, {"type": "Ready", "status": "Unknown"})
        gone = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
        silent(one, "pod", name, gone)
        kubectl("delete", "pod", name, "-n", one.namespace, "--grace-period=1", "--wait=false")
        failed = one.wait("Failed", "NodeLost")
        (run,) = failed["runs"]
        assert run["startedAt"] <= run["finishedAt"] == failed["finishedAt"]
        (there,) = one.pods()
        assert run["finishedAt"] <= there["metadata"]["deletionTimestamp"]
        wait_until(lambda: not one.job, "it does not start again if its node comes back")
    finally:
        deployed.kwok.thaw()
    wait_until(lambda: not one.pods(), "its node is back")
    assert one.status["runs"] == [run]


def silent(one: WorkerJob, kind: str, name: str, condition: Thing) -> None:
    """Put a condition on a node or on a pod of a job, beside those of other types."""
    where = one.namespace if kind == "pod" else None
    found = one.api.get(kind, name, where)
    assert found
    kept = [c for c in found["status"]["conditions"] if c["type"] != condition["type"]]
    since = {"lastTransitionTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}
    change = {"status": {"conditions": [*kept, condition | since]}}
    one.api.patch(kind, name, change, where, "status")


def test_a_pod_that_is_deleted_ends_the_job_and_its_run(one: WorkerJob) -> None:
    one.apply()
    one.wait("Running")
    (pod,) = one.pods()
    one.api.delete("pod", pod["metadata"]["name"], one.namespace)
    failed = one.wait("Failed", "PodDeleted")
    (run,) = failed["runs"]
    assert run["finishedAt"] >= run["startedAt"]


def test_a_job_that_somebody_deletes_is_the_end(one: WorkerJob) -> None:
    one.apply()
    one.wait("Running")
    one.api.delete("job", one.name, one.namespace)
    failed = one.wait("Failed", "JobDeleted")
    assert all("finishedAt" in run for run in failed["runs"])
    assert not one.job


def test_all_slots_taken_is_told_and_passes(
    one: WorkerJob, kubectl: Kubectl, namespace: str
) -> None:
    kubectl.api.patch("node", SMALL, {"metadata": {"labels": {STATE: "inactive"}}})
    room = {"capacity": {SLOTS: "1"}, "allocatable": {SLOTS: "1"}}
    kubectl.api.patch("node", LARGE, {"status": room}, sub="status")
    one.apply()
    one.wait("Running")
    other = WorkerJob(kubectl.api, namespace, "job-2")
    other.apply()
    try:
        what = f"no node has enough free `{SLOTS}`"
        waits = other.follow(lambda status: what in status.get("message", ""), "it says what for")
        assert (waits["phase"], waits["reason"]) == ("Pending", "Waiting")
        one.end()
        other.wait("Running")
    finally:
        other.delete()
