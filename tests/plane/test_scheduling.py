"""A running server is evicted, driven from its node, or makes room for what is more important."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.plane.content import GPUS
from support.servers import DevServer, apply_flavor, small_server, succeeds, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")

ALL = {"cpu": "20m", "memory": "32Mi", GPUS: "4"}
"""Of a node's room, all GPUs."""


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    """A running server that has all the GPUs of a node."""
    with small_server(kubectl, namespace, images["base"].reference) as made:
        apply_flavor(kubectl, namespace, resources={"requests": ALL, "limits": {GPUS: "4"}})
        made.apply()
        made.wait("Ready")
        yield made


def pod(server: DevServer) -> dict[str, Any]:
    """Its pod; empty while there is none."""
    found = server.get("pod", "lab-0")
    return found[0] if found else {}


def await_another(server: DevServer, uid: str) -> None:
    wait_until(lambda: pod(server).get("metadata", {}).get("uid") not in {None, uid}, "another")


def test_an_evicted_server_starts_again_with_its_home(server: DevServer, kubectl: Kubectl) -> None:
    before, home = pod(server), server.uids("pvc")
    metadata = {"name": "lab-0", "namespace": server.namespace}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    kubectl.api.post(f"/api/v1/namespaces/{server.namespace}/pods/lab-0/eviction", eviction)
    server.wait_for_successor(0, before["metadata"]["uid"])
    assert server.uids("pvc") == home
    assert pod(server)["spec"]["nodeName"] == before["spec"]["nodeName"]


def test_a_server_waits_while_its_node_takes_nobody(server: DevServer, kubectl: Kubectl) -> None:
    before = pod(server)
    node = before["spec"]["nodeName"]
    taint = {"key": "test/out", "effect": "NoExecute"}
    kubectl.api.patch("node", node, {"spec": {"taints": [taint]}})
    try:
        await_another(server, before["metadata"]["uid"])
        told = waits(server)
        assert "node" in told["message"]
        assert server.status["phase"] == "Pending"
    finally:
        kubectl.api.patch("node", node, {"spec": {"taints": None}})
    server.wait("Ready")
    assert pod(server)["spec"]["nodeName"] == node, "where its home is"


def waits(server: DevServer) -> Any:
    """Wait until it says that it finds no node; in which words."""
    server.follow(
        lambda found: any(
            (c["type"], c["reason"]) == ("Ready", "Unschedulable")
            for c in found["status"]["conditions"]
        ),
        "it waits for a node",
    )
    return server.condition("Ready")


@pytest.fixture
def important(kubectl: Kubectl, namespace: str) -> Iterator[str]:
    """The name of a class of pods that others make room for."""
    manifest = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": namespace},
        "value": 1000,
    }
    kubectl.api.create(manifest)
    yield namespace
    kubectl.api.delete("priorityclass", namespace)


def test_a_server_makes_room_for_what_is_more_important(
    server: DevServer, kubectl: Kubectl, important: str
) -> None:
    before = pod(server)
    node = before["spec"]["nodeName"]
    resources = {"requests": ALL, "limits": {GPUS: "4"}}
    spec = {
        "priorityClassName": important,
        "nodeSelector": {"kubernetes.io/hostname": node},
        "containers": [{"name": "main", "image": "busybox:1", "resources": resources}],
    }
    metadata = {"name": "important", "namespace": server.namespace}
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    # What checks a pod hears of its class a moment after it was created.
    wait_until(lambda: succeeds(lambda: kubectl.api.create(manifest)), "its class is known")

    await_another(server, before["metadata"]["uid"])
    assert GPUS in waits(server)["message"]
    assert kubectl.api.get("pod", "important", server.namespace)
    kubectl.api.delete("pod", "important", server.namespace)
    server.wait("Ready")
    assert pod(server)["spec"]["nodeName"] == node, "where its home is"
