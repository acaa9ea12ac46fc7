"""An `up` that is killed half-way: `down` leaves nothing of it, and the next `up` goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.host_cluster import FIRST, NAME, Differences, Host, down, nodes, reset, up
from support.processes import pids_of
from support.servers import wait_until

from devctl.local import cgroups, playbook
from devctl.local.paths import REPOSITORY, cluster_paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl.local.settings import ClusterSettings

pytestmark = pytest.mark.exclusive


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
class Killed:
    """What was so after each `up` that was killed.

    Attributes:
        half_way: What was different on the host after it and `down`, by moment.
        three: What `status` said of the nodes after the `up` that was left alone.
    """

    half_way: dict[str, Differences]
    three: list[dict[str, Any]]


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


@pytest.fixture(scope="module")
def killed(cluster: ClusterSettings) -> Killed:
    """One cluster, killed at all of the moments; the tests' main one is up and is not looked at."""
    assert cluster.name != NAME
    host = Host()
    half_way: dict[str, Differences] = {}
    try:
        for moment in HALF_WAY:
            if moment is joins_nodes:
                # The next `up` goes on where this one was, and with more nodes.
                killed_up(starts_control_plane, nodes=1)
            killed_up(moment, nodes=3 if moment is joins_nodes else 1)
            down()
            half_way[moment.__name__] = host.differences()
        up()
        return Killed(half_way, nodes())
    finally:
        reset()


@pytest.mark.parametrize("moment", [moment.__name__ for moment in HALF_WAY])
def test_down_leaves_nothing_of_an_up_that_was_killed(killed: Killed, moment: str) -> None:
    found = killed.half_way[moment]
    assert not found, found


def test_up_goes_on_where_killed_ones_were(killed: Killed) -> None:
    """While the control plane started and while the others joined."""
    names = [f"{NAME}-{number}" for number in (1, 2, 3)]
    assert [(node["name"], node["ready"]) for node in killed.three] == [(n, True) for n in names]
