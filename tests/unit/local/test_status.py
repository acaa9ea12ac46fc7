from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from devctl.local.status import find_kubectl, judge, read_status
from devctl.local.supervisor import ProcessState

if TYPE_CHECKING:
    from devctl.local.paths import CachePaths, ClusterPaths
    from devctl.local.settings import ClusterSettings


def process(name: str, state: str = "RUNNING") -> ProcessState:
    return ProcessState(name, state, 11, 60, f"/logs/{name}.log")


def node(name: str, ready: str = "True") -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "addresses": [{"type": "InternalIP", "address": "198.18.0.11"}],
            "nodeInfo": {"kubeletVersion": "v1.36.4"},
        },
    }


def pod(name: str, ready: str = "True", phase: str = "Running", **metadata: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"restartPolicy": "Never" if phase in {"Succeeded", "Failed"} else "Always"},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]},
    }


PROCESSES = [process("containerd-lab-1"), process("kubelet-lab-1")]
NODES = [node("lab-1"), node("lab-2")]
PODS = [
    pod("running"),
    pod("finished", ready="False", phase="Succeeded"),
    pod("failed", ready="False", phase="Failed"),
    pod("going", ready="False", deletionTimestamp="2026-01-01T00:00:00Z"),
]
HEALTHY: dict[str, list[dict[str, Any]] | None] = {"nodes": NODES, "pods": PODS}


def test_a_healthy_cluster_is_up(cluster: ClusterSettings, paths: ClusterPaths) -> None:
    found = judge(cluster, paths, PROCESSES, HEALTHY, namespaces_present=True)
    assert (found.state, found.problems) == ("up", [])
    assert found.pods == {"total": 4, "unready": 0}
    assert found.nodes[0] == {
        "name": "lab-1",
        "ready": True,
        "address": "198.18.0.11",
        "version": "v1.36.4",
    }
    assert found.to_json()["kubeconfig"] == str(paths.kubeconfig)
    assert found.parts == ()


def test_the_chosen_parts_are_shown(cluster: ClusterSettings, paths: ClusterPaths) -> None:
    chosen = replace(cluster, parts=("kueue",))
    found = judge(chosen, paths, PROCESSES, HEALTHY, namespaces_present=True)
    assert found.to_json()["parts"] == ("kueue",)


@pytest.mark.parametrize(
    ("processes", "answers", "problem"),
    [
        pytest.param([], {}, "the supervisor does not run", id="no-supervisor"),
        pytest.param(
            [*PROCESSES, process("kubelet-lab-2", "BACKOFF")],
            HEALTHY,
            "process kubelet-lab-2 is backoff",
            id="process",
        ),
        pytest.param(
            PROCESSES,
            {"nodes": None, "pods": None},
            "the API server does not answer",
            id="no-answer",
        ),
        pytest.param(
            PROCESSES,
            {**HEALTHY, "nodes": [node("lab-1"), node("lab-2", "Unknown")]},
            "node lab-2 is not ready",
            id="node-not-ready",
        ),
        pytest.param(
            PROCESSES,
            {**HEALTHY, "nodes": [node("lab-1")]},
            "node lab-2 has not joined",
            id="node-missing",
        ),
        pytest.param(
            PROCESSES,
            {**HEALTHY, "pods": [pod("coredns", "False")]},
            "pod default/coredns is not ready",
            id="pod-not-ready",
        ),
        pytest.param(
            PROCESSES,
            {**HEALTHY, "pods": [pod("kube-proxy", "False", "Failed") | {"spec": {}}]},
            "pod default/kube-proxy is not ready",
            id="pod-that-is-to-run-again",
        ),
        pytest.param(
            PROCESSES,
            {**HEALTHY, "pods": [{**pod("new"), "status": {}}]},
            "pod default/new is not ready",
            id="pod-without-status",
        ),
        pytest.param(
            PROCESSES,
            {"nodes": NODES, "pods": None},
            "the API server does not answer",
            id="half-an-answer",
        ),
    ],
)
def test_each_problem_is_named(
    cluster: ClusterSettings,
    paths: ClusterPaths,
    processes: list[ProcessState],
    answers: dict[str, list[dict[str, Any]] | None],
    problem: str,
) -> None:
    found = judge(cluster, paths, processes, answers, namespaces_present=True)
    assert (found.state, found.problems) == ("degraded", [problem])


def test_nothing_left_is_down(cluster: ClusterSettings, paths: ClusterPaths) -> None:
    found = judge(cluster, paths, [], {}, namespaces_present=False)
    assert (found.state, found.problems) == ("down", [])


def test_a_cluster_that_was_never_up_is_down(
    cluster: ClusterSettings, paths: ClusterPaths, cache: CachePaths
) -> None:
    assert read_status(cluster, paths, cache).state == "down"


def test_a_half_built_kubectl_is_not_found(cache: CachePaths) -> None:
    for folder in ("kubernetes-1.partial", "kubernetes-2", "containerd-3"):
        (cache.programs / folder).mkdir(parents=True)
        (cache.programs / folder / "kubectl").touch()
    assert find_kubectl(cache) == cache.programs / "kubernetes-2" / "kubectl"
