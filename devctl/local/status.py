"""The state of a local cluster."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from devctl.api import conditions
from devctl.local import namespaces, supervisor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from devctl.local.paths import CachePaths, ClusterPaths
    from devctl.local.settings import ClusterSettings


@dataclass(frozen=True)
class ClusterStatus:
    """One cluster's state. `state` is up, degraded or down; `problems` say why it is not up."""

    name: str
    state: str
    kubeconfig: str
    folder: str
    nodes: Sequence[Mapping[str, Any]] = ()
    processes: Sequence[Mapping[str, Any]] = ()
    pods: Mapping[str, int] = field(default_factory=dict)
    problems: Sequence[str] = ()
    parts: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """The form of `-o json`."""
        return asdict(self)


def read_status(settings: ClusterSettings, paths: ClusterPaths, cache: CachePaths) -> ClusterStatus:
    """Read the state from the processes and the API server, without raising errors."""
    processes = supervisor.processes(paths)
    answers = {kind: _get(kind, paths, cache) for kind in ("nodes", "pods")} if processes else {}
    present = any(namespaces.exist(paths.node(node.name)) for node in settings.nodes)
    return judge(settings, paths, processes, answers, namespaces_present=present)


def judge(
    settings: ClusterSettings,
    paths: ClusterPaths,
    processes: Sequence[supervisor.ProcessState],
    answers: Mapping[str, list[dict[str, Any]] | None],
    *,
    namespaces_present: bool,
) -> ClusterStatus:
    """Derive the state.

    `processes` is empty if the supervisor is not running; `answers` has the API server's objects by
    kind, or None if it did not answer.
    """
    problems = [f"process {p.name} is {p.state.lower()}" for p in processes if p.state != "RUNNING"]
    if not processes and namespaces_present:
        problems.append("the supervisor does not run")
    nodes, pods = answers.get("nodes"), answers.get("pods")
    if processes and (nodes is None or pods is None):
        problems.append("the API server does not answer")
    rows = [_node_row(node) for node in nodes or []]
    problems += [f"node {row['name']} is not ready" for row in rows if not row["ready"]]
    missing = {n.name for n in settings.nodes} - {row["name"] for row in rows}
    if nodes is not None:
        problems += [f"node {name} has not joined" for name in sorted(missing)]
    unready = [
        pod
        for pod in pods or []
        if not _has_ended(pod) and "deletionTimestamp" not in pod["metadata"] and not _is_ready(pod)
    ]
    problems += [
        f"pod {p['metadata']['namespace']}/{p['metadata']['name']} is not ready" for p in unready
    ]
    down = not processes and not namespaces_present
    return ClusterStatus(
        name=settings.name,
        state="down" if down else "degraded" if problems else "up",
        kubeconfig=str(paths.kubeconfig),
        folder=str(paths.root),
        nodes=rows,
        processes=[p._asdict() for p in processes],
        pods={"total": len(pods or []), "unready": len(unready)},
        parts=settings.parts,
        problems=problems,
    )


def _has_ended(pod: Mapping[str, Any]) -> bool:
    """Whether its program was to run once, and has: a failed job is not the cluster's fault."""
    phase, once = pod["status"].get("phase"), pod["spec"].get("restartPolicy") == "Never"
    return bool(phase == "Succeeded" or (phase == "Failed" and once))


def _node_row(node: Mapping[str, Any]) -> dict[str, Any]:
    addresses = {a["type"]: a["address"] for a in node["status"].get("addresses", [])}
    return {
        "name": node["metadata"]["name"],
        "ready": _is_ready(node),
        "address": addresses.get("InternalIP", ""),
        "version": node["status"].get("nodeInfo", {}).get("kubeletVersion", ""),
    }


def _is_ready(item: Mapping[str, Any]) -> bool:
    return conditions.find(item["status"], "Ready").get("status") == "True"


def _get(kind: str, paths: ClusterPaths, cache: CachePaths) -> list[dict[str, Any]] | None:
    kubectl = find_kubectl(cache)
    if kubectl is None or not paths.kubeconfig.is_file():
        return None
    result = subprocess.run(
        [
            *(kubectl, "--kubeconfig", paths.kubeconfig, "--request-timeout", "5s"),
            *("get", kind, "--all-namespaces", "--output", "json"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        return None
    items: list[dict[str, Any]] = json.loads(result.stdout)["items"]
    return items


def find_kubectl(cache: CachePaths) -> Path | None:
    """The newest built kubectl, if any."""
    found = [p for p in cache.programs.glob("kubernetes-*/kubectl") if ".partial" not in str(p)]
    return max(found, key=lambda p: p.stat().st_mtime, default=None)
