"""The contents of the Job of one attempt."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from apply.manifests import CREATE_ONLY
from apply.pods import lost_node_tolerations, preferred_node
from apply.values import entries

from devctl.api.durations import parse_duration
from devctl.api.gpu_workload import (
    ATTEMPT,
    DEFAULT_IMAGE,
    PRIORITIES,
    RANK,
    TOLERATIONS,
    app_label,
    job_name,
    master,
    pods_of,
    resources,
    service_name,
)
from devctl.api.quantities import GPU
from devctl.api.queues import QUEUE_NAME
from devctl.api.ranks import own_variables, shared_variables
from gpu_workload import workspace

_DEFAULT_COMMAND = ["python3", "-P", "-m", "devctl_inference.model"]
"""What the default image does: it loads the model's files."""


def job_values(workload: Mapping[str, Any], identity: Mapping[str, str]) -> dict[str, Any]:
    """The values for the Job's template.

    Args:
        workload: The GPUWorkload; its status says which attempt it is, and on which nodes.
        identity: The labels that mark an object as the workload's.
    """
    spec, status, name = workload["spec"], workload["status"], str(workload["metadata"]["name"])
    attempt, app = int(status["attempt"]), {"app": app_label(str(spec["modelName"]))}
    queue = {QUEUE_NAME: spec["queueName"]} if spec.get("queueName") else {}
    limit = parse_duration(spec["timeout"]) if "timeout" in spec else None
    return {
        "name": job_name(name, attempt),
        "labels": app | queue | {ATTEMPT: str(attempt)},
        # A Job's template never changes; what changes in the spec is for the next attempt.
        "annotations": {CREATE_ONLY: "true"},
        "pod_labels": app | dict(identity),
        "deadline": int(limit / timedelta(seconds=1)) if limit else None,
        "priority_class": PRIORITIES[spec["priority"]][0],
        "preferred": preferred(status),
        "ranks": pods_of(spec) if pods_of(spec) > 1 else None,
        "subdomain": service_name(name),
        "tolerations": _tolerations(),
        "image": spec["image"],
        "command": _command(spec),
        "args": spec.get("args"),
        "folder": (spec.get("workspace") or {}).get("mountPath"),
        "environment": environment(spec) + rank_environment(name, attempt, spec),
        "resources": resources(spec),
        "unpacking": _unpacking(spec),
        "mounts": _mounts(spec),
        "volumes": _volumes(name, spec),
    }


def environment(spec: Mapping[str, Any]) -> list[dict[str, str]]:
    """The entries of the container's `env`: the schema lets nobody set ours."""
    ours = {"MODEL_NAME": spec["modelName"], "GPU_COUNT": spec["gpuCount"]}
    return entries(ours | {entry["name"]: entry["value"] for entry in spec.get("env", [])})


def rank_environment(name: str, attempt: int, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the pods of an attempt find each other by; one alone needs nobody."""
    pods = pods_of(spec)
    if pods == 1:
        return []
    shared = shared_variables(pods, int(spec["gpuCount"]), master(name, attempt))
    return [*own_variables(RANK), *entries(shared)]


def preferred(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The terms by which all pods prefer the nodes that were chosen.

    Not required: if a node fills in the meantime, another one will do. The API server takes one
    name in each.

    >>> terms = preferred({"assignedNode": "b", "assignedNodes": ["b", "a", "b"]})
    >>> [term["preference"]["matchFields"][0]["values"] for term in terms]
    [['a'], ['b']]
    """
    one = status.get("assignedNode")
    names = sorted(set(status.get("assignedNodes") or ([one] if one else [])))
    return [preferred_node(name) for name in names]


def _command(spec: Mapping[str, Any]) -> list[str] | None:
    if spec.get("command"):
        return list(spec["command"])
    own = spec["image"] != DEFAULT_IMAGE or spec.get("args")
    return None if own else list(_DEFAULT_COMMAND)


def _tolerations() -> list[dict[str, Any]]:
    gpus = [{"key": t.key, "operator": t.operator, "effect": t.effect} for t in TOLERATIONS]
    return lost_node_tolerations() + gpus


def _mounts(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = spec.get("volumes", [])
    mounts = [
        {"name": f"volume-{i}", "mountPath": v["mountPath"], "readOnly": v["readOnly"]}
        for i, v in enumerate(given)
    ]
    own = {"tmp": "/tmp", "shm": "/dev/shm"}  # noqa: S108 - in the container
    kept = [{"name": name, "mountPath": path} for name, path in own.items()]
    return [*kept, *workspace.mounts(spec), *mounts]


def _unpacking(spec: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values for the container that unpacks an archive, which needs no GPU."""
    found = workspace.unpacking(spec)
    own = {
        side: {name: value for name, value in amounts.items() if name != GPU}
        for side, amounts in resources(spec).items()
    }
    return found and {**found, "resources": own}


def _volumes(name: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    claims = [
        {
            "name": f"volume-{i}",
            "persistentVolumeClaim": {"claimName": v["claimName"], "readOnly": v["readOnly"]},
        }
        for i, v in enumerate(spec.get("volumes", []))
    ]
    tmp = {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}}
    # As large as the memory limit, which it counts against: torch's workers and NCCL share it.
    shared = {"name": "shm", "emptyDir": {"medium": "Memory"}}
    return [tmp, shared, *workspace.volumes(name, spec), *claims]
