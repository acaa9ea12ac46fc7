"""What a cluster does to its host, from its first second to four nodes: `down` leaves nothing.

One cluster beside the tests' main one goes through all of it once; the tests look at what was so.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support import host_state
from support.commands import Kubectl, devctl, must
from support.processes import kill_everything, pids_of
from support.servers import wait_until
from support.tiers.prepare import CLUSTER

from devctl.local import cgroups, playbook
from devctl.local.cluster import existing
from devctl.local.namespaces import enter
from devctl.local.paths import REPOSITORY, cluster_paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl.local.images import Image
    from devctl.local.settings import ClusterSettings

pytestmark = pytest.mark.exclusive

NAME = f"{CLUSTER}-host"
FIRST = f"{NAME}-1"
Differences = dict[str, object]


def runs(*words: str) -> bool:
    """Whether a playbook of the cluster's has started a program with these words, which runs."""
    for pid in playbook.leftovers(NAME):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        except OSError:
            continue
        if all(any(part.endswith(word) for part in line) for word in words):
            return True
    return False


def makes_namespaces() -> bool:
    """Some of a node's namespaces are there."""
    return cluster_paths(NAME).node(FIRST).network_namespace.exists()


def imports_images() -> bool:
    """containerd unpacks an image."""
    return runs("/ctr", "import")


def writes_manifests() -> bool:
    """kubeadm has written its last manifest and waits for the API server."""
    manifest = cluster_paths(NAME).node(FIRST).etc / "kubernetes/manifests/etcd.yaml"
    return manifest.exists() and runs("kubeadm", "init")


def starts_control_plane() -> bool:
    """The containers start for which kubeadm waits."""
    return bool(pids_of("etcd", cgroups.path_of(NAME, FIRST))) and runs("kubeadm", "init")


def joins_nodes() -> bool:
    """The first node is up and the others come to it."""
    return runs("kubeadm", "join")


HALF_WAY = (makes_namespaces, imports_images, writes_manifests, joins_nodes)
"""The moments at which `up` is killed and `down` is to work."""


@dataclass(frozen=True)
class Life:
    """What was so in the life of a cluster.

    Attributes:
        half_way: What was different on the host after a killed `up` and `down`, by moment.
        during: What was different while it was up with three nodes.
        three: What `status` said of its nodes then.
        four: And with four.
        routes: The routes inside each node then, by its name.
        settings: What it was then.
        marker: What was found of an object that was written to three nodes.
        name: What a pod on the last node found for a service's name.
        after: What was different after `down`.
        left: What `reset` left of its folder.
    """

    half_way: dict[str, Differences]
    during: Differences
    three: list[dict[str, Any]]
    four: list[dict[str, Any]]
    routes: dict[str, str]
    settings: ClusterSettings
    marker: str
    name: str
    after: Differences
    left: list[Path]


def up(*options: str) -> None:
    """Bring it up, or heal it."""
    must(devctl("local", "up", "--name", NAME, *options))


def down() -> None:
    """Take it down."""
    must(devctl("local", "down", "--name", NAME))


def reset() -> None:
    """Forget it, if there is anything of it."""
    if cluster_paths(NAME).settings.exists():
        must(devctl("local", "reset", "--name", NAME, "--confirm", NAME))


def killed_up(moment: Callable[[], bool], nodes: int) -> None:
    """Kill an `up` at a moment, with all that it has not handed on."""
    process = subprocess.Popen(
        [sys.executable, "-m", "devctl", "local", "up", "--name", NAME, "--nodes", str(nodes)],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_until(lambda: moment() or process.poll() is not None, moment.__name__, 300)
        assert process.poll() is None, f"it ended before it {moment.__name__}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def nodes() -> list[dict[str, Any]]:
    """What `status` says of its nodes."""
    text = devctl("local", "status", "--name", NAME, "--output", "json").stdout
    found: list[dict[str, Any]] = json.loads(text)["nodes"]
    return found


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
    reset()
    own = Kubectl(kubectl.program, cluster_paths(NAME).kubeconfig)
    before = host_state.take(NAME)

    def differences() -> Differences:
        return host_state.differences(before, host_state.take(NAME))

    half_way: dict[str, Differences] = {}
    try:
        for moment in HALF_WAY:
            if moment is joins_nodes:
                # The next `up` goes on where this one was, and with more nodes.
                killed_up(starts_control_plane, nodes=1)
            killed_up(moment, nodes=3 if moment is joins_nodes else 1)
            down()
            half_way[moment.__name__] = differences()
        up()
        three, during = nodes(), differences()
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
        after = differences()
    finally:
        reset()
    left = [*cluster_paths(NAME).root.glob("**/*")]
    return Life(half_way, during, three, four, routes, settings, marker, name, after, left)


@pytest.mark.parametrize("moment", [moment.__name__ for moment in HALF_WAY])
def test_down_leaves_nothing_of_an_up_that_was_killed(life: Life, moment: str) -> None:
    found = life.half_way[moment]
    assert not found, found


def test_down_leaves_nothing_of_four_nodes(life: Life) -> None:
    # Proof that the picture shows what a cluster does: an empty comparison would say nothing.
    shown = {"interfaces", "addresses", "routes", "namespaces", "nftables", "cgroups"}
    assert shown | {"mounts", "processes"} <= set(life.during)
    assert not life.after, life.after


def test_reset_forgets_it(life: Life) -> None:
    assert life.left == []


def test_up_goes_on_where_killed_ones_were(life: Life) -> None:
    """While the control plane started and while the others joined."""
    names = [f"{NAME}-{number}" for number in (1, 2, 3)]
    assert [(node["name"], node["ready"]) for node in life.three] == [(n, True) for n in names]


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
