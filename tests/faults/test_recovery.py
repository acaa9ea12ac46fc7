"""Killing what a cluster is made of: it comes back, by itself or with the next `up`."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest
from support.commands import devctl, must
from support.processes import pids_of

from devctl.local import cgroups, supervisor
from devctl.local.lock import hold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl

    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings


pytestmark = pytest.mark.exclusive

SETTLED = 180.0
"""Seconds until all is well again: the kubelet's pauses of 10, 20 and 40 s are among them."""


def wait_until(true: Callable[[], bool], seconds: float, what: str) -> None:
    """Look every half second."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds:.0f} s: {what}")
        time.sleep(0.5)


def is_up(name: str) -> bool:
    """Whether `devctl local status` finds nothing wrong."""
    return devctl("local", "status", "--name", name).returncode == 0


@pytest.fixture
def marker(kubectl: Kubectl, cluster: ClusterSettings) -> Iterator[str]:
    """An object written before the fault; it must still be there after it."""
    wait_until(lambda: is_up(cluster.name), SETTLED, "the cluster is up")
    value = str(time.time_ns())
    kubectl("create", "configmap", "marker", f"--from-literal=value={value}")
    yield value
    kubectl("delete", "configmap", "marker")


def read_marker(kubectl: Kubectl) -> str:
    return kubectl("get", "configmap", "marker", "--output", "jsonpath={.data.value}")


@pytest.mark.parametrize("program", ["etcd", "kube-apiserver", "containerd", "kubelet"])
def test_a_killed_program_comes_back_by_itself(
    program: str, kubectl: Kubectl, cluster: ClusterSettings, marker: str
) -> None:
    group = cgroups.path_of(cluster.name, cluster.nodes[0].name)
    before = pids_of(program, group)
    assert before
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: bool(pids_of(program, group) - before), 60, f"a new {program}")
    wait_until(lambda: is_up(cluster.name), 120, "the cluster is up again")
    assert read_marker(kubectl) == marker


def test_a_killed_containerd_or_kubelet_leaves_the_containers_running(
    cluster: ClusterSettings, marker: str
) -> None:
    assert marker
    group = cgroups.path_of(cluster.name, cluster.nodes[0].name)
    etcd = pids_of("etcd", group)
    for program in ("containerd", "kubelet"):
        for pid in pids_of(program, group):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: is_up(cluster.name), 120, "the cluster is up again")
    assert pids_of("etcd", group) == etcd


def test_a_killed_supervisor_takes_no_container_with_it_and_up_heals_it(
    kubectl: Kubectl, cluster: ClusterSettings, paths: ClusterPaths, marker: str
) -> None:
    group = cgroups.path_of(cluster.name, cluster.nodes[0].name)
    etcd = pids_of("etcd", group)
    pid = supervisor.running_pid(paths)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not pids_of("kubelet", group), 10, "no kubelet without its supervisor")
    found = devctl("local", "status", "--name", cluster.name)
    assert "the supervisor does not run" in found.stdout
    assert found.returncode == 1
    must(devctl("local", "up", "--name", cluster.name))
    assert pids_of("etcd", group) == etcd
    assert read_marker(kubectl) == marker


def kill_everything(cluster: ClusterSettings, paths: ClusterPaths) -> None:
    """What a closed shell leaves: no process, but mounts, namespaces and files."""
    pid = supervisor.running_pid(paths)
    if pid is not None:
        os.kill(pid, signal.SIGKILL)
    cgroups.kill(cgroups.path_of(cluster.name))


def test_up_heals_a_cluster_whose_processes_are_all_gone(
    kubectl: Kubectl, cluster: ClusterSettings, paths: ClusterPaths, marker: str
) -> None:
    kill_everything(cluster, paths)
    must(devctl("local", "up", "--name", cluster.name))
    assert read_marker(kubectl) == marker
    wait_until(lambda: is_up(cluster.name), SETTLED, "every pod is ready again")


def test_down_and_up_keep_objects_and_files(
    kubectl: Kubectl, cluster: ClusterSettings, paths: ClusterPaths, marker: str
) -> None:
    (paths.shared_volumes / "kept").write_text("kept")
    must(devctl("local", "down", "--name", cluster.name))
    must(devctl("local", "up", "--name", cluster.name))
    assert read_marker(kubectl) == marker
    assert (paths.shared_volumes / "kept").read_text() == "kept"


def test_down_works_when_all_processes_are_gone(
    kubectl: Kubectl, cluster: ClusterSettings, paths: ClusterPaths, marker: str
) -> None:
    kill_everything(cluster, paths)
    must(devctl("local", "down", "--name", cluster.name))
    assert devctl("local", "status", "--name", cluster.name).stdout.startswith(
        f"cluster `{cluster.name}` is down"
    )
    must(devctl("local", "up", "--name", cluster.name))
    assert read_marker(kubectl) == marker


def test_up_again_changes_nothing(kubectl: Kubectl, cluster: ClusterSettings) -> None:
    wait_until(lambda: is_up(cluster.name), SETTLED, "the cluster is up")

    def versions() -> list[str]:
        # Whatever becomes of pods is written into their makers' status.
        kinds = {
            "generation": "deployments,daemonsets",
            "resourceVersion": "configmaps,storageclasses,clusterroles,serviceaccounts",
        }
        path = 'jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.%s}{"\\n"}{end}'
        return [
            kubectl("get", names, "--all-namespaces", "--output", path % number)
            for number, names in kinds.items()
        ]

    before = versions()
    output = must(devctl("local", "up", "--name", cluster.name))
    assert versions() == before
    steps = [line for line in output.splitlines() if line.startswith("[")]
    assert len(steps) == 7
    assert all(" unchanged " in line for line in steps), output


def test_a_second_up_is_refused_with_the_pid_of_the_first(
    cluster: ClusterSettings, paths: ClusterPaths
) -> None:
    with hold(paths.lock, "the tests' cluster"):
        result = devctl("local", "up", "--name", cluster.name)
    assert result.returncode == 1
    assert (
        f"cluster `{cluster.name}` is being changed by another devctl (pid {os.getpid()})"
        in result.stderr
    )
