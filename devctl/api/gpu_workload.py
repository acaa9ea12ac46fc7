"""A GPUWorkload's names, labels, phases and reasons, and what its pod requests."""

from __future__ import annotations

import re
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from devctl.api.kinds import GPU_WORKLOAD
from devctl.api.placing import Toleration
from devctl.api.quantities import GPU
from devctl.api.queues import Priority

if TYPE_CHECKING:
    from collections.abc import Mapping

LABEL = f"{GPU_WORKLOAD.group}/gpuworkload"
"""Label: the GPUWorkload that a Job or pod belongs to, by name, in the same namespace."""

ATTEMPT = f"{GPU_WORKLOAD.group}/attempt"
"""Label of a Job: the attempt that it is."""

OWNER = f"{GPU_WORKLOAD.group}/owner"
"""Label of a claim: a digest of spec.owner, so that nobody inherits another's files."""

OWNER_NAME = f"{GPU_WORKLOAD.group}/owner-name"
"""Annotation of a claim: spec.owner itself, who alone may delete it. Admission compares names."""

ARCHIVE = "archive.tar.gz"
"""The key of a ConfigMap that spec.workspace.configMapName names."""

WORKSPACE = "/workspace"
"""Where a workspace is mounted by default."""

RANK = "batch.kubernetes.io/job-completion-index"
"""Kubernetes' label of a pod of an attempt that has several: its rank."""

MODELS = "/models"
"""Where the default image looks for the files of models, a folder for each."""

DEFAULT_IMAGE = "gpu-job-inference:latest"
"""The image of jobs, which a workload runs unless it names one."""

PRIORITIES = {
    priority: (f"devctl-{priority}", value)
    for priority, value in ((Priority.LOW, -1000), (Priority.NORMAL, 0), (Priority.HIGH, 1000))
}
"""The PriorityClass of each priority, and its value. Kueue takes a workload's priority from there,
and the WorkloadPriorityClasses of teams have the same values."""

TOLERATIONS = (Toleration(GPU, "Exists", "", "NoSchedule"),)
"""Taints of nodes that only take pods with GPUs."""

CHEAP = "gpu-orchestrator/cheap-node"
"""Label of a node, with the value `true`, that costs less than others."""

UNKNOWN_STRATEGY = "UnknownStrategy"
"""The reason of a workload whose strategy is not installed: it continues once it names another."""

LONGEST_NAME = 52
"""Of a GPUWorkload's name: the name of its Job is a label value, and a pod's is a host name."""

_APP = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)
_JOB = re.compile(r"(.+)-[1-9][0-9]*", re.ASCII)
_HASHED = re.compile(r"-[0-9a-f]{8}\Z")
_NOT_ALLOWED = re.compile(r"[^-A-Za-z0-9_.]+", re.ASCII)
_SLUG = 54


class Phase(StrEnum):
    """What a GPUWorkload is doing. Succeeded and Failed are final."""

    PENDING = "Pending"
    SCHEDULING = "Scheduling"
    SCHEDULED = "Scheduled"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class Condition(StrEnum):
    """Condition types; the role writes APPLIED, the observer the others."""

    SUCCEEDED = "Succeeded"
    APPLIED = "Applied"
    JOBS_EXPIRED = "JobsExpired"
    """True when the time to keep the Jobs is over: the role then removes them."""


def job_name(name: str, attempt: int) -> str:
    """The Job of an attempt.

    >>> job_name("my-model", 2)
    'my-model-2'
    """
    return f"{name}-{attempt}"


def claim_name(name: str) -> str:
    """The claim of a workload's workspace."""
    return f"workspace-{name}"


def service_name(name: str) -> str:
    """The Service that gives the ranks of a workload their host names.

    The prefix keeps it apart from the Service of a server that has the workload's name.

    >>> service_name("my-model")
    'gw-my-model'
    """
    return f"gw-{name}"


def master(name: str, attempt: int) -> str:
    """The host name of rank 0.

    >>> master("my-model", 2)
    'my-model-2-0.gw-my-model'
    """
    return f"{job_name(name, attempt)}-0.{service_name(name)}"


def pods_of(spec: Mapping[str, Any]) -> int:
    """How many pods an attempt has.

    >>> pods_of({"nodes": 2}), pods_of({})
    (2, 1)
    """
    return int(spec.get("nodes", 1))


def workload_of_job(name: str) -> str:
    """The workload of a Job, by the name of that; empty if it is none of ours.

    >>> workload_of_job("my-model-2"), workload_of_job("other")
    ('my-model', '')
    """
    found = _JOB.fullmatch(name)
    return found[1] if found else ""


def app_label(model: str) -> str:
    """A model's name as the label `app` can hold it; injective.

    >>> app_label("llama2"), app_label("meta-llama/Llama 2")
    ('llama2', 'meta-llama-Llama-2-b577e99d')
    """
    if _APP.fullmatch(model) and not _HASHED.search(model):
        return model
    slug = _NOT_ALLOWED.sub("-", model)[:_SLUG].strip("-_.") or "model"
    return f"{slug}-{sha256(model.encode()).hexdigest()[:8]}"


def resources(spec: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The requests and limits of the container of each pod.

    Memory and local storage are limited to the request; CPU is not, so that idle cores can be used.
    """
    wanted = {name: str(value) for name, value in spec.get("resources", {}).items()}
    gpus = {GPU: str(spec["gpuCount"])}
    limits = {name: value for name, value in wanted.items() if name != "cpu"}
    return {"requests": wanted | gpus, "limits": limits | gpus}


def is_made(spec: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    """Whether the Job of the current attempt is to be created.

    The observer records its name once it has seen it: from then on, nobody creates it again.
    """
    begun = status.get("attempt") and status.get("phase") == Phase.SCHEDULING
    return bool(begun and not status.get("jobName") and not spec.get("stopped"))


def is_served(spec: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    """Whether its pods need host names, now or soon."""
    ended = status.get("phase") in {Phase.SUCCEEDED, Phase.FAILED}
    return pods_of(spec) > 1 and not ended and not spec.get("stopped")


def is_over(attempt: int, spec: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    """Whether an attempt has ended, so that its Job is stopped if it still runs."""
    current = int(status.get("attempt") or 0)
    if attempt < current or spec.get("stopped"):
        return True
    waits = status.get("phase") == Phase.PENDING and not status.get("jobName")
    return attempt == current and (waits or status.get("phase") == Phase.FAILED)
