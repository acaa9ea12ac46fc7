"""An operator or an observer that dies in the middle of its work: the end is the same."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from support.deployment import SYSTEM
from support.processes import kill_leader, leader, stopped
from support.servers import KEEP, DevServer, content, small_server, wait_until

from devctl.api.labels import DEVSERVER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.settings import ClusterSettings

pytestmark = [pytest.mark.exclusive, pytest.mark.usefixtures("deployed")]

PARTS = ("operator", "observer")
MANY = 20
NODE_LOST = 150
"""Seconds: 50 until Kubernetes misses a node, 30 in which it may come back, a start, and some."""
# Takes no notice of the end of its pod, which then waits for it.
STUBBORN = "(trap '' TERM HUP; sleep 300) >/dev/null 2>&1 &"


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    with small_server(kubectl, namespace, images["base"].reference) as made:
        yield made


def named(server: DevServer, name: str) -> DevServer:
    """Another server beside a server."""
    return DevServer(server.kubectl, server.namespace, server.spec, name)


@pytest.fixture
def two_operators(deployed: None, kubectl: Kubectl) -> Iterator[None]:  # noqa: ARG001 - comes first
    deployment = ("deployment/devctl-operator", "-n", SYSTEM)
    kubectl("scale", *deployment, "--replicas=2")
    kubectl("rollout", "status", *deployment, "--timeout=60s")
    yield
    kubectl("scale", *deployment, "--replicas=1")
    kubectl("rollout", "status", *deployment, "--timeout=60s")


@pytest.mark.usefixtures("two_operators")
def test_the_second_operator_ends_what_the_first_one_left(
    server: DevServer, kubectl: Kubectl, cluster: ClusterSettings
) -> None:
    calm, others = named(server, "lab-00"), [named(server, f"lab-{n:02}") for n in range(1, MANY)]
    calm.apply(stopped=True)
    calm.wait("Applied")

    def objects(name: str) -> str:
        return json.dumps(content(server, f"{DEVSERVER}={name}")).replace(name, "NAME")

    manifests = [other.manifest(stopped=True) for other in others]
    listed = {"apiVersion": "v1", "kind": "List", "items": manifests}
    kubectl("apply", "--server-side", "-f", "-", input=json.dumps(listed))
    wait_until(lambda: len(server.get("statefulset")) > 1, "some are made")
    dead = leader(kubectl, "operator")
    kill_leader(kubectl, cluster, "operator")
    made = [thing["metadata"]["name"] for thing in server.get("statefulset")]
    assert len(made) < MANY, "it died too late"

    for other in others:
        other.wait("Applied")
    assert leader(kubectl, "operator") != dead
    expected = objects(calm.name)
    for other in others:
        assert objects(other.name) == expected
    uids = {found["metadata"]["uid"] for found in server.get("devserver")}
    assert {
        owner["uid"]
        for thing in server.get("statefulset,service,configmap,secret")
        for owner in thing["metadata"].get("ownerReferences", [])
    } == uids
    assert len(content(server)) == len(content(server, f"{DEVSERVER}={calm.name}")) * MANY
    before = server.versions()
    time.sleep(3)  # the new leader runs the role for those that were there, too
    assert server.versions() == before


def told(server: DevServer) -> Any:
    """What its status says, with nothing that differs from server to server."""
    status = server.status
    conditions = {c["type"]: (c["status"], c["reason"], c["message"]) for c in status["conditions"]}
    replicas = [(r["pod"], r["phase"], r["reason"]) for r in status["replicaStatuses"]]
    apart = {"conditions", "replicaStatuses", "startedAt"}
    rest = {name: value for name, value in status.items() if name not in apart}
    return json.loads(json.dumps([conditions, replicas, rest]).replace(server.name, "NAME"))


def born(server: DevServer) -> datetime:
    """When it was created."""
    metadata = server.get("devserver", server.name)[0]["metadata"]
    return datetime.fromisoformat(metadata["creationTimestamp"])


def expiry(server: DevServer) -> datetime:
    """When its status says that its time is over."""
    return datetime.fromisoformat(server.status["expiresAt"])


def test_an_observer_that_dies_at_any_point_is_made_up_for(
    server: DevServer, kubectl: Kubectl, cluster: ClusterSettings
) -> None:
    calm, expiring = named(server, "calm"), named(server, "expiring")
    expiring.apply(lifecycle={"timeToLive": "1h"})
    calm.apply()
    for early in (expiring, calm):
        early.wait("Ready")
    running, home = told(calm), expiring.uids("pvc")["PersistentVolumeClaim/home-expiring-0"]
    expiring.run(KEEP)

    starting, applied, unseen = (named(server, name) for name in ("starting", "applied", "unseen"))
    starting.apply()
    wait_until(lambda: starting.status.get("phase") == "Starting", "it starts")
    applied.apply()
    kill_leader(kubectl, cluster, "observer")
    unseen.apply()
    for late in (starting, applied, unseen):
        late.wait("Ready")
        assert told(late) == running

    calm.run(STUBBORN)
    age = datetime.now(UTC) - born(expiring)
    expiring.apply(lifecycle={"timeToLive": max(60, int(age.total_seconds()) + 40)})
    wait_until(lambda: expiry(expiring) - born(expiring) < timedelta(hours=1), "it is told so")
    expires = expiry(expiring)
    time.sleep(max(0, (expires - datetime.now(UTC)).total_seconds() - 12))
    calm.apply(stopped=True)
    wait_until(lambda: calm.status["phase"] == "Stopping", "it stops")
    assert datetime.now(UTC) < expires
    kill_leader(kubectl, cluster, "observer")
    assert expiring.get("devserver", expiring.name)
    wait_until(lambda: not expiring.get("devserver", expiring.name), "its time is over")
    wait_until(lambda: calm.status["phase"] == "Stopped", "it is stopped")
    unseen.stop()
    assert told(calm) == told(unseen)

    assert expiring.uids("pvc")["PersistentVolumeClaim/home-expiring-0"] == home
    expiring.start(lifecycle=None)
    assert expiring.run("cat /home/dev/file") == "kept"


@pytest.fixture
def mortal(deployed: None, kubectl: Kubectl, cluster: ClusterSettings) -> Iterator[str]:  # noqa: ARG001 - comes first
    """A node that has the operator and the observer, and that all others could do without."""
    first, *_, last = (node.name for node in cluster.nodes)
    ours = ("pod", "-n", SYSTEM, "-l", "app.kubernetes.io/name=devctl")

    def there() -> list[str]:
        return kubectl("get", *ours, "-o", "jsonpath={.items[*].metadata.name}").split()

    kubectl("cordon", first)
    try:
        kubectl("delete", *ours)
        wait_until(
            lambda: {leader(kubectl, part).partition("_")[0] for part in PARTS} == {*there()},
            "others lead",
        )
    finally:
        kubectl("uncordon", first)
    yield last
    kubectl("wait", f"node/{last}", "--for=condition=Ready", "--timeout=60s")
    wait_until(lambda: len(there()) == len(PARTS), "what was left on the node has ended")


def test_operator_and_observer_leave_a_node_that_dies(
    mortal: str, server: DevServer, kubectl: Kubectl, cluster: ClusterSettings
) -> None:
    before = {part: leader(kubectl, part) for part in PARTS}
    with stopped(cluster, mortal, "kubelet", "containerd"):
        for part in PARTS:
            kill_leader(kubectl, cluster, part)
        server.apply(stopped=True)
        server.wait("Applied", seconds=NODE_LOST)
        wait_until(lambda: server.status.get("phase") == "Stopped", "its status is told")
    assert all(leader(kubectl, part) != name for part, name in before.items())
