"""Kubernetes objects as an API server returns them, cut to what matters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from devctl.api.labels import DEVSERVER, MANAGED_BY, MANAGER

Thing = dict[str, Any]

NAMESPACE = "dev-alice"
NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)
SERVERS, FLAVORS, PODS = "devservers", "devserverflavors", "pods"
CLAIMS, EVENTS = "persistentvolumeclaims", "events"


def ago(**of: float) -> str:
    """How the API server writes a time so long before NOW."""
    return (NOW - timedelta(**of)).strftime("%Y-%m-%dT%H:%M:%SZ")


def server(  # noqa: PLR0913 - each is a choice of the test
    name: str = "lab",
    phase: str = "Running",
    /,
    *,
    replicas: int = 1,
    reason: str = "",
    message: str = "",
    spec: Thing | None = None,
    **status: Any,
) -> Thing:
    """A server; without a phase one that nobody has looked at yet.

    Args:
        name: Its name.
        phase: What it does.
        replicas: How many pods it has; more than one make it a distributed one.
        reason: That of its Ready condition; else its phase.
        message: That of the condition.
        spec: What is otherwise in its spec.
        status: What is otherwise in its status.
    """
    wanted: Thing = {
        "owner": "alice@company.com",
        "flavor": "cpu-small",
        "image": "torch:1",
        "mode": "standalone",
        "persistentHomeSize": "1Gi",
        "enableSSH": True,
        "stopped": phase in {"Stopping", "Stopped"},
    }
    if replicas > 1:
        wanted["mode"] = "distributed"
        wanted["distributed"] = {"worldSize": replicas, "nprocsPerNode": 1, "backend": "gloo"}
    thing: Thing = {
        "apiVersion": "devops.yourcompany.com/v1",
        "kind": "DevServer",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "generation": 1,
            "creationTimestamp": ago(hours=2),
        },
        "spec": wanted | (spec or {}),
    }
    if phase:
        there = 0 if phase == "Stopped" else replicas
        ready = there if phase == "Running" else 0
        condition = {
            "type": "Ready",
            "status": "True" if phase == "Running" else "False",
            "reason": reason or phase,
            "message": message,
            "observedGeneration": 1,
            "lastTransitionTime": ago(hours=1),
        }
        thing["status"] = {
            "phase": phase,
            "replicas": there,
            "readyReplicas": ready,
            "replicaStatuses": [
                replica(name, ordinal, phase, reason, message) for ordinal in range(there)
            ],
            "conditions": [condition],
        } | status
    return thing


def replica(
    name: str, ordinal: int, phase: str = "Running", reason: str = "", message: str = ""
) -> Thing:
    """What a server's status says of one of its pods."""
    return {
        "ordinal": ordinal,
        "pod": f"{name}-{ordinal}",
        "node": f"node-{ordinal}",
        "ip": f"10.0.0.{ordinal + 1}",
        "phase": phase,
        "reason": reason or phase,
        "message": message,
        "restarts": 0,
    }


def pod(name: str = "lab-0", *claims: str, phase: str = "Running", **spec: Any) -> Thing:
    """A pod that mounts claims; one called `<server>-<ordinal>` is a server's."""
    of = name.rpartition("-")[0]
    volumes = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    return {
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {DEVSERVER: of}},
        "spec": {"nodeName": "node-0", "containers": [], "volumes": volumes} | spec,
        "status": {"phase": phase},
    }


def home(of: str = "lab", ordinal: int = 0, *, size: str = "1Gi", ours: bool = True) -> Thing:
    """A home of a server."""
    labels = {MANAGED_BY: MANAGER, DEVSERVER: of} if ours else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": f"home-{of}-{ordinal}",
            "namespace": NAMESPACE,
            "labels": labels,
            "creationTimestamp": ago(days=3),
        },
        "spec": {"resources": {"requests": {"storage": size}}, "storageClassName": "devctl-home"},
        "status": {"phase": "Bound", "capacity": {"storage": size}},
    }


def flavor(name: str = "cpu-small", requests: Thing | None = None, **spec: Any) -> Thing:
    """A flavor."""
    asks = requests or {"cpu": "500m", "memory": "1Gi"}
    return {
        "apiVersion": "devops.yourcompany.com/v1",
        "kind": "DevServerFlavor",
        "metadata": {"name": name, "creationTimestamp": ago(days=9)},
        "spec": {"default": False, "resources": {"requests": asks}} | spec,
        "status": {"schedulable": True},
    }


def event(
    about: str, reason: str = "Scheduled", message: str = "it was put on node-0", **before: float
) -> Thing:
    """An event about `Kind/name`, so long before NOW: `minutes=3`."""
    kind, _, name = about.partition("/")
    when = ago(**(before or {"minutes": 5}))
    warns = reason.startswith("Fail")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{kind.lower()}-{name}.{reason.lower()}.{when.lower().replace(':', '')}",
            "namespace": NAMESPACE,
            "creationTimestamp": when,
        },
        "involvedObject": {"kind": kind, "name": name, "namespace": NAMESPACE},
        "reason": reason,
        "message": message,
        "type": "Warning" if warns else "Normal",
        "count": 1,
        "firstTimestamp": when,
        "lastTimestamp": when,
    }


def settings(**data: str) -> Thing:
    """What an administrator has set."""
    return {"metadata": {"name": "devctl-settings", "namespace": "devctl-system"}, "data": data}
