"""GPUWorkloads in a queue: Kueue's own program decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.kueue import await_next_second
from support.servers import wait_until
from support.workloads import Workload

from devctl import Client
from devctl.api.queues import ENABLED, KUEUE, QUEUES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl
    from support.plane.kueue import KueueProcess

pytestmark = pytest.mark.usefixtures("deployed")
QUEUE = "gpus"


def kueues(kind: str, name: str, spec: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": KUEUE, "kind": kind, "metadata": metadata, "spec": spec}


@pytest.fixture
def queue(kubectl: Kubectl, namespace: str, kueue_process: KueueProcess) -> Iterator[str]:  # noqa: ARG001
    """A namespace with a queue that has two GPUs, which higher priorities take from lower ones."""
    kubectl("label", "namespace", namespace, f"{QUEUES}={ENABLED}")
    quotas = {"cpu": "10", "memory": "10Gi", "nvidia.com/gpu": "2"}
    resources = [{"name": name, "nominalQuota": amount} for name, amount in quotas.items()]
    group = {
        "coveredResources": list(quotas),
        "flavors": [{"name": namespace, "resources": resources}],
    }
    cluster_queue = {
        "namespaceSelector": {},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [group],
    }
    api = kubectl.api
    api.create(kueues("ResourceFlavor", namespace, {}))
    api.create(kueues("ClusterQueue", namespace, cluster_queue))
    api.create(kueues("LocalQueue", QUEUE, {"clusterQueue": namespace}, namespace))
    yield namespace
    for name in ("low", "high", "next", "pair"):
        Workload(api, namespace, name).delete()
    for kind in ("clusterqueue", "resourceflavor"):
        api.delete(f"{kind}s.kueue.x-k8s.io", namespace)


def test_one_waits_for_quota_and_one_of_high_priority_takes_it(
    kubectl: Kubectl, kubeconfig: Path, queue: str
) -> None:
    low, high, following = (Workload(kubectl.api, queue, n) for n in ("low", "high", "next"))
    low.apply(queueName=QUEUE, gpuCount=2, priority="low")
    low.wait("Running")
    await_next_second(kubectl, queue)
    following.apply(queueName=QUEUE, gpuCount=2, priority="low")
    waits = following.wait("Pending", "Queued")
    assert f"waiting in queue `{QUEUE}`" in waits["message"]
    assert waits["attempt"] == 1
    why = "not enough quota is free: it needs 2 more nvidia.com/gpu"
    with Client(kubeconfig=str(kubeconfig), namespace=queue) as client:

        def told() -> tuple[str, str] | None:
            found = client.workloads.waiting_for("next")
            return (found.queue, found.why) if found else None

        # Until Kueue has looked at it, it says that its turn has not come yet.
        wait_until(lambda: told() == (QUEUE, why), lambda: f"it says why: {told()}")
    high.apply(queueName=QUEUE, gpuCount=1, priority="high")
    high.wait("Running")
    preempted = low.wait("Pending", "Preempted")
    assert "preempted by GPUWorkload `high` of a higher priority" in preempted["message"]
    assert f"it is in queue `{QUEUE}` again" in preempted["message"]
    high.end()
    high.wait("Succeeded")
    running = low.wait("Running")
    # Its Job is the same one, and no retry is lost.
    assert (running["attempt"], running["retryCount"]) == (1, 0)
    assert len(low.jobs()) == 1
    low.end()
    low.wait("Succeeded")
    following.wait("Running")


def test_all_pods_of_a_workload_are_admitted_together(kubectl: Kubectl, queue: str) -> None:
    low, pair = (Workload(kubectl.api, queue, name) for name in ("low", "pair"))
    low.apply(queueName=QUEUE, gpuCount=1)
    low.wait("Running")
    pair.apply(queueName=QUEUE, gpuCount=1, nodes=2)
    pair.wait("Pending", "Queued")
    # One of its pods would have quota.
    assert pair.pods() == []
    low.end()
    low.wait("Succeeded")
    running = pair.wait("Running")
    assert (running["attempt"], len(running["assignedNodes"])) == (1, 2)
