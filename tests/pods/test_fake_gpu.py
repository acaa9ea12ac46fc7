"""The made-up GPUs of the local cluster, handed out by the real kubelet and scheduler."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.processes import kill_kubelet
from support.servers import wait_until

if TYPE_CHECKING:
    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.settings import ClusterSettings

pytestmark = [pytest.mark.exclusive, pytest.mark.usefixtures("deployed")]

EACH = 4
RESOURCE = "nvidia.com/gpu"


def offered(kubectl: Kubectl) -> list[str]:
    """How many devices each node has to give."""
    path = "jsonpath={range .items[*]}{.status.allocatable['nvidia\\.com/gpu']} {end}"
    return kubectl("get", "nodes", "-o", path).split()


def pod(name: str, image: str, gpus: int, *command: str) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": image,
        "command": list(command),
        "resources": {"limits": {RESOURCE: gpus}},
    }
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def phases(kubectl: Kubectl, namespace: str) -> list[str]:
    path = "jsonpath={range .items[*]}{.status.phase} {end}"
    return sorted(kubectl("-n", namespace, "get", "pods", "-o", path).split())


def test_a_container_gets_devices_that_say_what_they_are(
    kubectl: Kubectl, namespace: str, images: dict[str, Image], cluster: ClusterSettings
) -> None:
    wait_until(lambda: offered(kubectl) == [str(EACH)] * len(cluster.nodes), "each node offers")
    show = ("sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES $DEVCTL_FAKE_GPUS")
    manifest = pod("two", images["base"].reference, 2, *show)
    kubectl("-n", namespace, "create", "-f", "-", input=json.dumps(manifest))
    where = ("-n", namespace, "--timeout=60s")
    kubectl("wait", "pod/two", "--for=jsonpath={.status.phase}=Succeeded", *where)
    visible, ours = kubectl("-n", namespace, "logs", "two").split()
    assert visible == ours
    assert all(name.startswith("fake-gpu-") for name in ours.split(","))
    assert len(ours.split(",")) == 2


def test_who_comes_late_waits_for_one_to_be_free(
    kubectl: Kubectl, namespace: str, images: dict[str, Image], cluster: ClusterSettings
) -> None:
    wait_until(lambda: offered(kubectl) == [str(EACH)] * len(cluster.nodes), "each node offers")
    room, late = EACH * len(cluster.nodes), 2
    pods = [
        pod(f"pod-{n}", images["base"].reference, 1, "sleep", "600") for n in range(room + late)
    ]
    listed = {"apiVersion": "v1", "kind": "List", "items": pods}
    kubectl("-n", namespace, "create", "-f", "-", input=json.dumps(listed))
    full = ["Pending"] * late + ["Running"] * room
    wait_until(lambda: phases(kubectl, namespace) == full, "as many run as there are devices")
    running = ("--field-selector=status.phase=Running", "-o", "name")
    first = kubectl("-n", namespace, "get", "pods", *running).split()[:late]
    kubectl("-n", namespace, "delete", *first)
    wait_until(lambda: phases(kubectl, namespace) == ["Running"] * room, "the late ones run")


def test_a_new_kubelet_is_told_of_them_too(kubectl: Kubectl, cluster: ClusterSettings) -> None:
    node = cluster.nodes[1].name
    kill_kubelet(cluster, node)
    path = "jsonpath={.status.conditions[?(@.type=='Ready')].status}"
    wait_until(lambda: kubectl("get", "node", node, "-o", path) == "True", "it is back", 90)
    wait_until(lambda: offered(kubectl) == [str(EACH)] * len(cluster.nodes), "all are there", 90)
