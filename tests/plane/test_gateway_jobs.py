"""What the gateway says of jobs and nodes, and what it takes away, on a real API server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.gateway_place import (
    Agent,
    end,
    granted,
    registered,
    reporting,
    serving,
    submitted,
    wait_for,
    writer,
)
from support.gpu_worker_jobs import WorkerJob
from support.plane.content import NODES
from support.servers import wait_until

from devctl.api.gpu_worker_job import GROUP, NAMESPACE
from devctl.api.gpu_worker_job import PLURAL as JOBS
from devctl.api.gpu_worker_node import PLURAL, STATE
from devctl.api.kinds import GPU_WORKER_NODE
from devctl.api.queues import ENABLED, KUEUE, QUEUES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx2
    from support.commands import Kubectl
    from support.gateway_process import GatewayProcess
    from support.plane.kueue import KueueProcess
    from support.plane.plane import Plane

Thing = dict[str, Any]
NOWHERE = {"gpu_memory_required": 40000}
QUEUE = "gpus"


@pytest.fixture(scope="module")
def gateway(
    kubectl: Kubectl, deployed: Plane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    folder = tmp_path_factory.mktemp("gateway")
    with (
        granted(kubectl),
        writer(deployed),
        serving(deployed, folder, "sqlite", orphan_seconds=3) as one,
    ):
        yield one


@pytest.fixture(scope="module")
def agents(gateway: GatewayProcess, kubectl: Kubectl) -> list[Agent]:
    return registered(gateway, kubectl, NODES)


@pytest.fixture
def ada(gateway: GatewayProcess, agents: list[Agent]) -> Iterator[httpx2.Client]:
    with reporting(gateway, agents), gateway.client("ada") as client:
        yield client


def listed(client: httpx2.Client, **query: str) -> list[str]:
    return [item["job_id"] for item in client.get("/jobs/", params=query).json()["items"]]


def test_a_deleted_job_ends_goes_with_its_pod_and_stays_in_the_bill(
    ada: httpx2.Client, kubectl: Kubectl, agents: list[Agent], gateway: GatewayProcess
) -> None:
    job_id, other = submitted(ada, gpu_memory_required=8191, gpu_count=2), submitted(ada)
    running = wait_for(ada, job_id, "running")
    assert (running["gpu_memory_required"], running["gpu_memory_per_gpu"]) == (8191, 4096)
    (agent,) = [each for each in agents if each.node == running["node_name"]]
    assert running["node_id"] == agent.node_id
    assert job_id in listed(ada, node_id=agent.node_id)
    with gateway.client("bob") as bob:
        assert bob.delete(f"/jobs/{job_id}").status_code == 404
    for _ in range(2):
        assert ada.delete(f"/jobs/{job_id}").status_code == 204
    gone = WorkerJob(kubectl.api, NAMESPACE, job_id)

    def is_gone() -> bool:
        there = kubectl.api.get(f"{JOBS}.{GROUP}", job_id, NAMESPACE)
        return not there and not gone.job and not gone.pods()

    wait_until(is_gone, "its object and its pod are gone", 60)
    assert ada.get(f"/jobs/{job_id}").status_code == 404
    assert ada.delete(f"/jobs/{job_id}").status_code == 204
    assert listed(ada) == [other]
    month = running["created_at"][:7]
    lines = ada.get(f"/invoices/{month}").json()["lines"]
    kinds = {line["kind"] for line in lines if line["job_id"] == job_id}
    assert kinds == {"gpu", "core", "gigabyte"}
    reconciled = gateway.run("reconcile")
    assert reconciled.returncode == 0, reconciled.stdout + reconciled.stderr
    wait_for(ada, other, "running")
    end(kubectl, other)
    wait_for(ada, other, "completed")
    assert ada.delete(f"/jobs/{other}").status_code == 204
    assert listed(ada) == []


def test_a_cordoned_or_tainted_node_is_not_offered(ada: httpx2.Client, kubectl: Kubectl) -> None:
    one, two = NODES

    def offered() -> set[str]:
        return {each["node_name"] for each in ada.get("/available-nodes/").json()["items"]}

    assert offered() == {one, two}
    kubectl("cordon", one)
    kubectl("taint", "node", two, "mine=1:NoSchedule")
    try:
        wait_until(lambda: not offered(), lambda: f"none is offered: {offered()}")
        reason = ada.get("/available-nodes/").json()["reason"]
        assert "closed to new jobs (cordoned)" in reason
        assert "closed to new jobs (taint mine=1:NoSchedule)" in reason
        waiting = submitted(ada)
        wait_for_place(ada, {waiting: 1})
    finally:
        kubectl("uncordon", one)
        kubectl("taint", "node", two, "mine-")
    assert wait_for(ada, waiting, "running")["queue_position"] is None
    ada.delete(f"/jobs/{waiting}")
    wait_until(lambda: offered() == {one, two}, lambda: f"both are offered: {offered()}")


def wait_for_place(client: httpx2.Client, wanted: dict[str, int]) -> None:
    def places() -> dict[str, int | None]:
        return {job_id: client.get(f"/jobs/{job_id}").json()["queue_position"] for job_id in wanted}

    wait_until(lambda: places() == wanted, lambda: f"their places are {places()}, not {wanted}")


def test_jobs_without_a_queue_have_a_place_by_priority_and_age(
    ada: httpx2.Client, kubectl: Kubectl
) -> None:
    for node in NODES:
        kubectl("cordon", node)
    try:
        low, first, second, nowhere = [
            submitted(ada, **asked) for asked in ({"priority": "low"}, {}, {}, NOWHERE)
        ]
        high = submitted(ada, priority="high")
        wait_for_place(ada, {high: 1, first: 2, second: 3, low: 4})
        assert ada.get(f"/jobs/{nowhere}").json()["queue_position"] is None
        jobs = (low, first, second, nowhere, high)
        for job_id in jobs:
            ada.delete(f"/jobs/{job_id}")
        wait_until(lambda: listed(ada) == [], lambda: f"all are gone: {listed(ada)}")
    finally:
        for node in NODES:
            kubectl("uncordon", node)


def test_a_node_that_nobody_has_registered_goes_and_no_other(
    ada: httpx2.Client, agents: list[Agent], kubectl: Kubectl
) -> None:
    orphan = "gpu-000000000000"
    spec = {"nodeName": "plane-9", "gpuCount": 1, "gpuMemoryMegabytes": 1, "maxConcurrentJobs": 1}
    kind = {"apiVersion": GPU_WORKER_NODE.api_version, "kind": GPU_WORKER_NODE.name}
    kubectl.api.create(kind | {"metadata": {"name": orphan}, "spec": spec})
    resource = f"{PLURAL}.{GROUP}"
    wait_until(lambda: kubectl.api.get(resource, orphan) is None, "it is deleted", 60)
    assert {each["metadata"]["name"] for each in kubectl.api.list(resource)} == {
        agent.node_id for agent in agents
    }
    # One that somebody deletes comes back, and its node takes jobs again.
    kubectl("delete", resource, agents[0].node_id)

    def active() -> bool:
        found = kubectl.api.get("node", agents[0].node) or {}
        labels: dict[str, str] = found["metadata"].get("labels", {})
        return labels.get(STATE) == "active" and bool(kubectl.api.get(resource, agents[0].node_id))

    wait_until(active, "its node takes jobs again")
    assert ada.get(f"/nodes/{agents[0].node_id}").json()["state"] == "active"


def kueues(kind: str, name: str, spec: Thing, namespace: str = "") -> Thing:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": KUEUE, "kind": kind, "metadata": metadata, "spec": spec}


@pytest.fixture
def queue(kubectl: Kubectl, agents: list[Agent], kueue_process: KueueProcess) -> Iterator[str]:
    """A queue that has one GPU."""
    assert agents
    assert kueue_process
    kubectl("label", "namespace", NAMESPACE, f"{QUEUES}={ENABLED}")
    quotas = {"cpu": "10", "memory": "10Gi", "nvidia.com/gpu": "1", "imagepod.dev/job-slots": "9"}
    resources = [{"name": name, "nominalQuota": amount} for name, amount in quotas.items()]
    group = {"coveredResources": [*quotas], "flavors": [{"name": QUEUE, "resources": resources}]}
    api = kubectl.api
    api.create(kueues("ResourceFlavor", QUEUE, {}))
    spec = {"namespaceSelector": {}, "resourceGroups": [group]}
    api.create(kueues("ClusterQueue", QUEUE, spec))
    api.create(kueues("LocalQueue", QUEUE, {"clusterQueue": QUEUE}, NAMESPACE))
    yield QUEUE
    for kind in ("localqueue", "clusterqueue", "resourceflavor"):
        where = NAMESPACE if kind == "localqueue" else None
        api.delete(f"{kind}s.kueue.x-k8s.io", QUEUE, where)
    kubectl("label", "namespace", NAMESPACE, f"{QUEUES}-")


def test_jobs_in_a_queue_have_kueues_order(
    ada: httpx2.Client, kubectl: Kubectl, queue: str
) -> None:
    holds = submitted(ada, queue=queue)
    wait_for(ada, holds, "running")
    low, normal, high = [
        submitted(ada, queue=queue, priority=each) for each in ("low", "normal", "high")
    ]
    wait_for_place(ada, {high: 1, normal: 2, low: 3})
    end(kubectl, holds)
    wait_for(ada, high, "running")
    wait_for_place(ada, {normal: 1, low: 2})
    for job_id in (holds, low, normal, high):
        ada.delete(f"/jobs/{job_id}")
    wait_until(lambda: listed(ada) == [], lambda: f"all are gone: {listed(ada)}")
