"""What a cluster does to its host, from its first second to four nodes: `down` leaves nothing.

One cluster beside the tests' main one goes through all of it once; the tests look at what was so.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import Kubectl
from support.host_cluster import NAME, Differences, Host, down, nodes, reset, up
from support.processes import kill_everything

from devctl.local.cluster import existing
from devctl.local.namespaces import enter
from devctl.local.paths import cluster_paths

if TYPE_CHECKING:
    from pathlib import Path

    from devctl.local.images import Image
    from devctl.local.settings import ClusterSettings

pytestmark = pytest.mark.exclusive


@dataclass(frozen=True)
class Life:
    """What was so in the life of a cluster.

    Attributes:
        during: What was different while it was up with three nodes.
        four: What `status` said of its nodes with four.
        routes: The routes inside each node then, by its name.
        settings: What it was then.
        marker: What was found of an object that was written to three nodes.
        name: What a pod on the last node found for a service's name.
        after: What was different after `down`.
        left: What `reset` left of its folder.
    """

    during: Differences
    four: list[dict[str, Any]]
    routes: dict[str, str]
    settings: ClusterSettings
    marker: str
    name: str
    after: Differences
    left: list[Path]


def route_tables() -> dict[str, str]:
    """The routes inside each node."""
    settings, paths = existing(NAME)
    return {
        node.name: subprocess.run(
            [*enter(paths.node(node.name)), "ip", "route"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for node in settings.nodes
    }


def asked_there(kubectl: Kubectl, node: str, image: str, *command: str) -> str:
    """What a command prints in a pod on a node."""
    overrides = json.dumps({"spec": {"nodeName": node}})
    asks = (f"--image={image}", "--restart=Never", f"--overrides={overrides}")
    kubectl("run", "asks", *asks, "--command", "--", *command)
    ended = "--for=jsonpath={.status.phase}=Succeeded"
    kubectl("wait", "pod/asks", ended, "--timeout=60s")
    return kubectl("logs", "asks")


@pytest.fixture(scope="module")
def life(cluster: ClusterSettings, kubectl: Kubectl, images: dict[str, Image]) -> Life:
    """From nothing to nothing; the tests' main cluster is up beside it and is not looked at."""
    assert cluster.name != NAME
    own = Kubectl(kubectl.program, cluster_paths(NAME).kubeconfig)
    host = Host()
    try:
        up("--nodes", "3")
        during = host.differences()
        own("create", "configmap", "marker", "--from-literal=value=kept")

        settings, paths = existing(NAME)
        kill_everything(settings, paths)
        up("--nodes", "4")
        four, routes, settings = nodes(), route_tables(), existing(NAME)[0]
        marker = own("get", "configmap", "marker", "-o", "jsonpath={.data.value}")
        # The name server's containers were killed, too, and its status may be of before.
        ask = (
            "sh",
            "-c",
            "until getent hosts kubernetes.default.svc.cluster.local; do sleep 1; done",
        )
        name = asked_there(own, settings.nodes[-1].name, images["base"].reference, *ask)
        down()
        after = host.differences()
    finally:
        reset()
    left = [*cluster_paths(NAME).root.glob("**/*")]
    return Life(during, four, routes, settings, marker, name, after, left)


def test_down_leaves_nothing_of_four_nodes(life: Life) -> None:
    # Proof that the picture shows what a cluster does: an empty comparison would say nothing.
    shown = {"interfaces", "addresses", "routes", "namespaces", "nftables", "cgroups"}
    assert shown | {"mounts", "processes"} <= set(life.during)
    assert not life.after, life.after


def test_reset_forgets_it(life: Life) -> None:
    assert life.left == []


def test_up_heals_a_cluster_whose_processes_are_gone_and_gives_it_a_fourth_node(life: Life) -> None:
    assert life.marker == "kept"
    assert [node["name"] for node in life.four] == [node.name for node in life.settings.nodes]
    assert [node["ready"] for node in life.four] == [True] * 4


def test_every_node_finds_the_way_to_the_pods_of_every_other(life: Life) -> None:
    for node in life.settings.nodes:
        for other in life.settings.nodes:
            way = f"{other.pod_range} via {other.address}"
            assert (way in life.routes[node.name]) == (node != other)


def test_a_pod_on_the_fourth_node_asks_for_names_on_another(life: Life) -> None:
    first = life.settings.service_range[1]
    assert life.name.split() == [str(first), "kubernetes.default.svc.cluster.local"]
