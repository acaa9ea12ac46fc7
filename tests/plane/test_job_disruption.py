"""A job's pod that the cluster takes away: evicted, preempted, chased from its node."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.jobs import SMALL, SUCCEEDS, WAITS, Job, Thing
from support.plane.content import CAPACITY, GPUS, NODES
from support.servers import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("deployed")


def evict(job: Job) -> None:
    """Ask for the eviction of its pod, as `kubectl drain` does."""
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": job.pod, "namespace": job.namespace},
    }
    path = f"/api/v1/namespaces/{job.namespace}/pods/{job.pod}/eviction"
    job.kubectl("create", "--raw", path, "-f", "-", input=json.dumps(eviction))


def test_an_eviction_ends_a_job_that_runs(job: Job) -> None:
    job.apply(command=WAITS)
    job.wait("Running")
    evict(job)
    status = job.wait("Failed", "Evicted")
    assert "its pod was evicted" in status["message"]
    assert "exitCode" in status, "its program was asked to end, and did"
    job.wait_gone("pod", job.pod)
    job.apply(ttlSecondsAfterFinished=60)
    job.wait_applied()
    assert not job.get("pod", job.pod), "it runs once"
    assert job.get("pvc", job.claim)


def test_an_eviction_before_it_ran_costs_a_job_nothing(job: Job) -> None:
    job.apply(command=SUCCEEDS, resources=SMALL | {"gpu": 64})
    job.wait("Pending", "Unschedulable")
    first = job.get("pod", job.pod)[0]["metadata"]["uid"]
    evict(job)

    def made_anew() -> bool:
        found = job.get("pod", job.pod)
        return bool(found) and found[0]["metadata"]["uid"] != first

    wait_until(made_anew, "it has another pod")
    job.apply(resources=SMALL)
    job.wait("Succeeded")


@pytest.fixture
def urgent(kubectl: Kubectl, namespace: str) -> Iterator[str]:
    """A class of pods that others make room for."""
    kubectl("create", "priorityclass", namespace, "--value=1000")
    yield namespace
    kubectl("delete", "priorityclass", namespace)


def test_a_job_makes_room_for_what_is_more_important(job: Job, urgent: str) -> None:
    """All devices are taken by jobs; the scheduler takes those of a node from one of them."""
    each = int(CAPACITY[GPUS])
    jobs = [job.beside(f"job-{number}") for number in range(len(NODES))]
    for one in jobs:
        one.apply(command=WAITS, resources=SMALL | {"gpu": each})
    for one in jobs:
        one.wait("Running")
    container = {"name": "main", "image": job.image, "resources": {"limits": {GPUS: each}}}
    pod: Thing = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "urgent", "namespace": job.namespace},
        "spec": {"priorityClassName": urgent, "containers": [container]},
    }
    job.kubectl("create", "-f", "-", input=json.dumps(pod))

    def failed() -> list[Job]:
        return [one for one in jobs if one.phase == "Failed"]

    wait_until(lambda: bool(failed()), "one of them ends")
    (lost,) = failed()
    assert lost.status["reason"] == "Evicted"
    assert "preempt" in lost.status["message"].lower()
    where = ("-n", job.namespace, "--timeout=60s")
    job.kubectl("wait", "pod/urgent", "--for=condition=Ready", *where)
    (left,) = (one for one in jobs if one is not lost)
    left.end("succeed")
    left.wait("Succeeded")


def test_a_node_that_is_shut_down_ends_its_job(job: Job) -> None:
    job.apply(command=WAITS)
    job.wait("Running")
    node = job.get("pod", job.pod)[0]["spec"]["nodeName"]
    taint = ("taint", "node", node, "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
    job.kubectl(*taint)
    try:
        assert f"`{node}`" in job.wait("Failed", "NodeLost")["message"]
    finally:
        job.kubectl(*taint[:3], f"{taint[3]}-")
    job.wait_gone("pod", job.pod)
