"""GPU workloads and their pods, as an API server returns them."""

from __future__ import annotations

from typing import Any

from devctl.api.gpu_workload import LABEL, RANK, job_name
from devctl.api.kinds import GPU_WORKLOAD
from unit.client.objects import NAMESPACE, Thing, ago

WORKLOADS = GPU_WORKLOAD.plural
KEY = (WORKLOADS, NAMESPACE, "llama")


def gpu_workload(
    name: str = "llama", phase: str = "", /, *, spec: Thing | None = None, **status: Any
) -> Thing:
    """A GPU workload; one that was placed is in its first attempt, unless `status` says more."""
    if phase in {"Scheduling", "Scheduled", "Running", "Succeeded", "Failed"}:
        placed = {"attempt": 1, "assignedNode": "gpu-1", "jobName": job_name(name, 1)}
        status = placed | status
    if phase in {"Running", "Succeeded", "Failed"}:
        status = {"startedAt": ago(minutes=10), **status}
    if phase in {"Succeeded", "Failed"}:
        status = {"finishedAt": ago(minutes=9), **status}
    wanted: Thing = {
        "owner": "alice@company.com",
        "modelName": "llama2",
        "gpuCount": 2,
        "priority": "normal",
        "schedulingStrategy": "leastLoaded",
        "retryPolicy": {"maxRetries": 3, "backoffSeconds": 30},
        "image": "torch:1",
        "resources": {"cpu": "500m", "memory": "1Gi"},
        "stopped": False,
    }
    return {
        "apiVersion": GPU_WORKLOAD.api_version,
        "kind": GPU_WORKLOAD.name,
        "metadata": {"name": name, "namespace": NAMESPACE, "creationTimestamp": ago(minutes=15)},
        "spec": wanted | (spec or {}),
        "status": {"phase": phase, "retryCount": 0, **status} if phase else {},
    }


def attempt_pod(
    attempt: int = 1,
    log: str = "",
    *,
    of: str = "llama",
    state: str = "running",
    rank: int | None = None,
) -> Thing:
    """The pod of an attempt, or one of several, which has printed something."""
    job = job_name(of, attempt)
    number = {} if rank is None else {RANK: str(rank)}
    name = job if rank is None else f"{job}-{rank}"
    return {
        "metadata": {
            "name": f"{name}-x7k2p",
            "namespace": NAMESPACE,
            "labels": {LABEL: of, "batch.kubernetes.io/job-name": job} | number,
        },
        "spec": {},
        "status": {"containerStatuses": [{"name": "workload", "state": {state: {}}}]},
        "log": log,
    }
