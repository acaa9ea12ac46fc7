"""What interrupts a running server from outside: its files are there afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from support.commands import devctl, must
from support.deployment import SYSTEM
from support.servers import KEEP, TWO_RANKS, DevServer, Thing, small_server, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.settings import ClusterSettings

pytestmark = pytest.mark.exclusive

RANKS = (0, 1)


@pytest.fixture(scope="module")
def server(
    deployed: None,  # noqa: ARG001 - it comes first
    kubectl: Kubectl,
    images: dict[str, Image],
) -> Iterator[DevServer]:
    """A running server with a rank on each node and a file in each home."""
    namespace = f"interruptions-{uuid4().hex[:6]}"
    kubectl("create", "namespace", namespace)
    with small_server(kubectl, namespace, images["base"].reference, **TWO_RANKS) as made:
        made.apply()
        made.wait("Ready")
        for rank in RANKS:
            made.run(KEEP, rank)
        yield made
    kubectl("delete", "namespace", namespace, "--wait=false")


@pytest.fixture(autouse=True)
def kept(server: DevServer) -> Iterator[None]:
    """Whatever a test does: the same homes, with the files in them."""
    homes = server.uids("pvc")
    yield
    assert server.uids("pvc") == homes
    assert [server.run("cat /home/dev/file", rank) for rank in RANKS] == ["kept", "kept"]


def pod(server: DevServer, rank: int) -> Thing:
    return server.get("pod", f"{server.name}-{rank}")[0]


def node_of(server: DevServer, rank: int) -> str:
    """The node of a rank; empty while it has none."""
    return str(pod(server, rank)["spec"].get("nodeName", ""))


def containers(server: DevServer) -> set[str]:
    """The containers that run: another one after each restart."""
    statuses = [
        status for pod in server.get("pod") for status in pod["status"]["containerStatuses"]
    ]
    return {status["containerID"] for status in statuses if status["ready"]}


@pytest.mark.parametrize(
    ("how", "days"), [((), 1), (("--grace-period=0", "--force"), 2)], ids=["ended", "killed"]
)
def test_a_new_operator_and_observer_leave_it_alone(
    server: DevServer, kubectl: Kubectl, how: tuple[str, ...], days: int
) -> None:
    before = server.uids("pod,statefulset"), containers(server)

    for component in ("operator", "observer"):
        label = f"app.kubernetes.io/component={component}"
        kubectl("delete", "pod", "-n", SYSTEM, "-l", label, *how)
    # A change that concerns no pod, answered by both.
    server.apply(lifecycle={"timeToLive": f"{days}d"})
    server.wait("Applied")
    server.wait("Ready")

    assert (server.uids("pod,statefulset"), containers(server)) == before


def test_a_drained_node_gets_its_rank_back(
    server: DevServer, kubectl: Kubectl, cluster: ClusterSettings
) -> None:
    node = cluster.nodes[1].name
    assert sorted(node_of(server, rank) for rank in RANKS) == [n.name for n in cluster.nodes]
    here = next(rank for rank in RANKS if node_of(server, rank) == node)
    there = pod(server, 1 - here)["metadata"]["uid"]

    def replica() -> Thing:
        found: Thing = server.status["replicaStatuses"][here]
        return found

    try:
        kubectl("drain", node, "--delete-emptydir-data", "--ignore-daemonsets", "--timeout=120s")
        # Its home is on that node: it starts nowhere else, where it would come up without files.
        wait_until(lambda: replica()["phase"] == "Pending", f"it waits: {server.status}")
        wait_until(
            lambda: "no node that its home can be reached from" in replica()["message"],
            f"it says why: {replica()}",
        )
        assert node_of(server, here) == ""
        assert pod(server, 1 - here)["metadata"]["uid"] == there
    finally:
        kubectl("uncordon", node)
    server.wait("Ready")
    assert node_of(server, here) == node


def test_a_restarted_cluster_brings_it_back(server: DevServer, cluster: ClusterSettings) -> None:
    before = containers(server)

    must(devctl("local", "down", "--name", cluster.name))
    must(devctl("local", "up", "--name", cluster.name))

    # What status says at first is what was so before.
    wait_until(
        lambda: len(containers(server) - before) == len(RANKS), "its containers run again", 120
    )
    server.apply(lifecycle={"timeToLive": "3d"})
    server.wait("Applied")
    server.wait("Ready")
