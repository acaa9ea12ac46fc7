"""Kubernetes objects as the API server returns them, reduced to what matters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from devctl_observer.judging.clocks import to_text
from devctl_observer.kinds.flavors.model import FLAVOR, Flavor
from devctl_observer.kinds.flavors.placed_pods import PlacedPod
from devctl_observer.kinds.servers.model import SERVER, Server
from lightkube.resources.core_v1 import Event, Node, PersistentVolumeClaim, Pod

from devctl.api.labels import MADE_FROM
from devctl.api.made_from import MadeFrom
from devctl.api.pod_spec import pod_spec

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def ago(**of: float) -> str:
    return to_text(NOW - timedelta(**of))


def server(
    status: dict[str, Any] | None = None, meta: dict[str, Any] | None = None, **spec: Any
) -> Server:
    return SERVER.parse(
        {
            "apiVersion": "devops.yourcompany.com/v1",
            "kind": "DevServer",
            "metadata": {
                "name": "my-dev",
                "namespace": "dev-alice",
                "uid": "u-1",
                "generation": 3,
                "resourceVersion": "100",
                "creationTimestamp": ago(hours=2),
                **(meta or {}),
            },
            "spec": {"owner": "alice", "flavor": "cpu-small", "image": "torch:1", **spec},
            "status": status or {},
        }
    )


def distributed(pods: int = 2) -> dict[str, Any]:
    return {"mode": "distributed", "distributed": {"worldSize": pods * 2, "nprocsPerNode": 2}}


def flavor(name: str = "cpu-small", generation: int = 1, **spec: Any) -> Flavor:
    return FLAVOR.parse(
        {
            "metadata": {"name": name, "generation": generation},
            "spec": {"resources": {"requests": {"cpu": 1, "memory": "1Gi"}}, **spec},
        }
    )


def made_from(
    name: str = "cpu-small", generation: int = 1, gives: dict[str, Any] | None = None, **spec: Any
) -> dict[str, str]:
    """A StatefulSet's record, as the role writes it: by default of `server()` and `flavor()`."""
    kept = flavor(name, **(gives or {})).pod_spec
    made = pod_spec({"flavor": name, "image": "torch:1", **spec})
    return {MADE_FROM: MadeFrom(made, name, generation, kept).to_text()}


def pod(ordinal: int = 0, *, ready: bool = False, **changes: Any) -> Pod:
    """A scheduled pod; `changes` replace keys of its status, `meta` keys of its metadata."""
    conditions = [
        {"type": "PodScheduled", "status": "True"},
        {"type": "Ready", "status": "True" if ready else "False"},
    ]
    return msgspec.convert(
        {
            "metadata": {
                "name": f"my-dev-{ordinal}",
                "namespace": "dev-alice",
                "uid": f"p-{ordinal}",
                "annotations": {
                    "devops.yourcompany.com/flavor": "cpu-small",
                    "devops.yourcompany.com/flavor-generation": "1",
                },
                **changes.pop("meta", {}),
            },
            "spec": {
                "containers": [],
                "nodeName": changes.pop("node", "node-a"),
                "volumes": [
                    {
                        "name": "home",
                        "persistentVolumeClaim": {"claimName": f"home-my-dev-{ordinal}"},
                    }
                ],
            },
            "status": {
                "phase": "Running" if ready else "Pending",
                "podIP": "10.0.0.7",
                "startTime": ago(minutes=10 - ordinal),
                "conditions": conditions,
                "containerStatuses": [container(ready=ready)],
                **changes,
            },
        },
        Pod,
    )


def placed(node: str = "node-a", name: str = "p", **spec: Any) -> PlacedPod:
    """Any pod, as decoded for its requests."""
    metadata = {"name": name, "namespace": "dev-bob", "resourceVersion": "7"}
    return msgspec.convert({"metadata": metadata, "spec": {"nodeName": node, **spec}}, PlacedPod)


def asks(**requests: str) -> dict[str, Any]:
    """A container with these requests."""
    return {"resources": {"requests": requests}}


def container(*, ready: bool = False, restarts: int = 0, **states: Any) -> dict[str, Any]:
    """A container status; `state` and `last` look like {"waiting": {"reason": ...}}."""
    started = {"running": {"startedAt": ago(minutes=9)}}
    return {
        "name": "main",
        "image": "torch:1",
        "imageID": "",
        "ready": ready,
        "restartCount": restarts,
        "state": states.get(
            "state", started if ready else {"waiting": {"reason": "ContainerCreating"}}
        ),
        "lastState": states.get("last", {}),
    }


def exited(code: int, reason: str = "Error", **more: Any) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, **more}}


def unscheduled(message: str, reason: str = "Unschedulable") -> Pod:
    conditions = [{"type": "PodScheduled", "status": "False", "reason": reason, "message": message}]
    return pod(node=None, conditions=conditions, containerStatuses=[], startTime=None, podIP=None)


def claim(phase: str, name: str = "home-my-dev-0") -> PersistentVolumeClaim:
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": "dev-alice"},
            "spec": {"storageClassName": "devctl-home"},
            "status": {"phase": phase},
        },
        PersistentVolumeClaim,
    )


def warning(kind: str, name: str, reason: str, message: str, **more: Any) -> Event:
    return msgspec.convert(
        {
            "metadata": {"name": f"{name}.1", "namespace": "dev-alice"},
            "involvedObject": {"kind": kind, "name": name, "namespace": "dev-alice"},
            "reason": reason,
            "message": message,
            "type": "Warning",
            "lastTimestamp": ago(seconds=5),
            **more,
        },
        Event,
    )


def node(name: str = "node-a", **changes: Any) -> Node:
    return msgspec.convert(
        {
            "metadata": {"name": name, "labels": changes.get("labels", {})},
            "spec": {
                "taints": changes.get("taints", []),
                "unschedulable": changes.get("cordoned", False),
            },
            "status": {
                "conditions": [{"type": "Ready", "status": changes.get("ready", "True")}],
                "allocatable": changes.get("allocatable", {"cpu": "4", "memory": "8Gi"}),
                "images": [{"names": names} for names in changes.get("images", [])],
            },
        },
        Node,
    )
