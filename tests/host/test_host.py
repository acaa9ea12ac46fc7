"""What a cluster does to its host: `down` leaves nothing, from any half-way state."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support import host_state
from support.commands import devctl, must

from devctl.local.cluster import existing
from devctl.local.namespaces import enter
from devctl.local.paths import REPOSITORY, cluster_paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.settings import ClusterSettings

pytestmark = pytest.mark.exclusive

NAME = "e2e-host"
CLUSTER = "e2e"  # the tests' main one, beside this module's


def must_print(*argv: str) -> str:
    """What a program prints."""
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def await_quiet(kubectl: Kubectl) -> None:
    """Wait until the main cluster makes and ends no pods: their processes come and go here."""
    deadline = time.monotonic() + 120
    settled = ("Running", "Succeeded", "Failed")
    calm = 0
    busy: list[str] = []
    while calm < 3:
        assert time.monotonic() < deadline, busy
        found = json.loads(kubectl("get", "namespaces,pods", "--all-namespaces", "-o", "json"))
        busy = [
            f"{item['kind']} {item['metadata'].get('namespace', '')}/{item['metadata']['name']}"
            for item in found["items"]
            if "deletionTimestamp" in item["metadata"]
            or (item["kind"] == "Pod" and item["status"].get("phase") not in settled)
        ]
        calm = 0 if busy else calm + 1
        time.sleep(1)


@pytest.fixture
def forgotten(cluster: ClusterSettings, kubectl: Kubectl) -> Iterator[None]:
    """No cluster of this test's name before and after; the tests' main cluster is up beside it."""
    assert cluster
    await_quiet(kubectl)
    folder = cluster_paths(NAME).root
    if folder.exists():
        must(devctl("local", "reset", "--name", NAME, "--confirm", NAME))
    yield
    if (folder / "cluster.json").exists():
        must(devctl("local", "reset", "--name", NAME, "--confirm", NAME))


@pytest.mark.usefixtures("forgotten")
def test_a_cluster_beside_another_leaves_the_host_as_it_was() -> None:
    before = host_state.take(CLUSTER)
    must(devctl("local", "up", "--name", NAME, "--nodes", "1"))
    during = host_state.differences(before, host_state.take(CLUSTER))
    # Proof that the picture shows what a cluster does: an empty comparison would say nothing.
    assert {"interfaces", "addresses", "routes", "namespaces", "nftables", "cgroups"} <= set(during)
    assert {"mounts", "processes"} <= set(during)
    # Growing it: the new node joins, and the old one finds the way to its pods.
    must(devctl("local", "up", "--name", NAME, "--nodes", "2"))
    status = json.loads(devctl("local", "status", "--name", NAME, "--output", "json").stdout)
    assert [node["ready"] for node in status["nodes"]] == [True, True]
    settings, paths = existing(NAME)
    routes = must_print(*enter(paths.node(settings.nodes[0].name)), "ip", "route")
    assert f"{settings.nodes[1].pod_range} via {settings.nodes[1].address}" in routes
    must(devctl("local", "down", "--name", NAME))
    assert host_state.differences(before, host_state.take(CLUSTER)) == {}
    must(devctl("local", "reset", "--name", NAME, "--confirm", NAME))
    assert not cluster_paths(NAME).root.exists()


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("step", ["[2/7]", "[3/7]", "[4/7]", "[5/7]"])
def test_down_works_after_an_up_that_was_killed_half_way(step: str) -> None:
    before = host_state.take(CLUSTER)
    process = subprocess.Popen(
        [sys.executable, "-m", "devctl", "local", "up", "--name", NAME, "--nodes", "1"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(step):
            break
    time.sleep(0.5)  # a little into the step that follows
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    must(devctl("local", "down", "--name", NAME))
    assert host_state.differences(before, host_state.take(CLUSTER)) == {}


@pytest.mark.usefixtures("forgotten")
def test_an_up_that_was_killed_while_the_control_plane_starts_goes_on() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "devctl", "local", "up", "--name", NAME, "--nodes", "1"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("[4/7]"):
            break
    time.sleep(3)  # kubeadm writes certificates and manifests, then waits for the API server
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    must(devctl("local", "up", "--name", NAME))
