"""The made-up GPUs of the local cluster, handed out by the real kubelet and scheduler."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.servers import wait_until

if TYPE_CHECKING:
    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.settings import ClusterSettings

pytestmark = [pytest.mark.exclusive, pytest.mark.usefixtures("deployed")]

ON_A_NODE, EACH = 4, 2
RESOURCE = "nvidia.com/gpu"
SHOWS = ["sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES $DEVCTL_FAKE_GPUS; exec sleep 600"]


def offered(kubectl: Kubectl) -> list[str]:
    """How many devices each node has to give."""
    path = "jsonpath={range .items[*]}{.status.allocatable['nvidia\\.com/gpu']} {end}"
    return kubectl("get", "nodes", "-o", path).split()


def pod(name: str, image: str) -> dict[str, Any]:
    """A pod that asks for devices, says which it got, and keeps them."""
    container = {
        "name": "main",
        "image": image,
        "command": SHOWS,
        "resources": {"limits": {RESOURCE: EACH}},
    }
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_each_container_gets_its_own_and_who_comes_late_waits(
    kubectl: Kubectl, namespace: str, images: dict[str, Image], cluster: ClusterSettings
) -> None:
    nodes = len(cluster.nodes)
    wait_until(lambda: offered(kubectl) == [str(ON_A_NODE)] * nodes, "each node offers")
    room, late = nodes * ON_A_NODE // EACH, 1
    pods = [pod(f"pod-{number}", images["base"].reference) for number in range(room + late)]
    listed = {"apiVersion": "v1", "kind": "List", "items": pods}
    where = ("-n", namespace)
    kubectl("create", *where, "-f", "-", input=json.dumps(listed))

    def running() -> dict[str, str]:
        found = json.loads(kubectl("get", "pods", *where, "-o", "json"))["items"]
        return {
            one["metadata"]["name"]: one["spec"]["nodeName"]
            for one in found
            if one["status"]["phase"] == "Running"
        }

    wait_until(lambda: len(running()) == room, "as many run as there are devices for")
    got: list[tuple[str, str]] = []
    for name, node in running().items():
        visible, ours = kubectl("logs", *where, name).split()
        assert visible == ours
        got += [(node, device) for device in ours.split(",")]
    assert all(device.startswith("fake-gpu-") for _, device in got)
    assert len(set(got)) == nodes * ON_A_NODE, "nobody shares one"

    full = running()
    kubectl("delete", *where, "pod", next(iter(full)))
    wait_until(lambda: len(running()) == room, "the late one runs")
    assert running().keys() - full.keys(), "and it is another one"
