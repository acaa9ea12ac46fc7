"""The labels of a GPUWorkload's Jobs, which one is created, and which are removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apply.values import Values

from devctl.api.conditions import find
from devctl.api.devserver import MASTER_PORT
from devctl.api.gpu_workload import (
    ATTEMPT,
    LABEL,
    Condition,
    claim_name,
    is_made,
    is_over,
    is_served,
    service_name,
)
from devctl.api.labels import MANAGED_BY, MANAGER
from gpu_workload.job import job_values
from gpu_workload.workspace import claim_values

KEPT = 10
"""Earlier Jobs that are kept for their logs: attempts that were preempted are not limited."""
_ENDS = {"Complete", "Failed"}


def identity(owner: Mapping[str, Any]) -> dict[str, str]:
    """The labels that identify Jobs and pods of a GPUWorkload.

    >>> identity({"metadata": {"name": "one"}})["gpu.warp.dev/gpuworkload"]
    'one'
    """
    return {MANAGED_BY: MANAGER, LABEL: str(owner["metadata"]["name"])}


def values(
    owner: Mapping[str, Any], *, jobs: list[dict[str, Any]], claims: list[dict[str, Any]]
) -> Values:
    """The values for the templates, and what to remove.

    Args:
        owner: The GPUWorkload.
        jobs: The Jobs with its labels.
        claims: The claims with its labels, if it has a workspace.

    Raises:
        ApplyError: The claim of its workspace belongs to another user.
    """
    spec, status = owner["spec"], owner.get("status", {})
    name = claim_name(str(owner["metadata"]["name"]))
    claim = next((claim for claim in claims if claim["metadata"]["name"] == name), None)
    return Values(
        {
            "claim": claim_values(owner, claim),
            "job": job_values(owner, identity(owner)) if is_made(spec, status) else None,
            "service": service_values(owner) if is_served(spec, status) else None,
        },
        remove=[job for job in jobs if _is_own(owner, job) and is_removed(owner, job)],
    )


def service_values(owner: Mapping[str, Any]) -> dict[str, Any]:
    """The values for the template of the Service that gives ranks their host names."""
    name = str(owner["metadata"]["name"])
    return {"name": service_name(name), "selector": {LABEL: name}, "port": MASTER_PORT}


def is_removed(owner: Mapping[str, Any], job: Mapping[str, Any]) -> bool:
    """Whether a Job is stopped, or no longer kept."""
    status = owner.get("status", {})
    attempt = int(job["metadata"]["labels"].get(ATTEMPT, 0))
    if job["metadata"].get("deletionTimestamp"):
        return False
    if find(status, Condition.JOBS_EXPIRED).get("status") == "True":
        return True
    if is_finished(job):
        return attempt < int(status.get("attempt") or 0) - KEPT
    return is_over(attempt, owner["spec"], status)


def is_finished(job: Mapping[str, Any]) -> bool:
    """Whether a Job has ended."""
    said = job.get("status", {}).get("conditions") or []
    return any(entry["type"] in _ENDS and entry["status"] == "True" for entry in said)


def _is_own(owner: Mapping[str, Any], job: Mapping[str, Any]) -> bool:
    """Whether a Job is this very workload's, and not an earlier one's of its name."""
    owners = job["metadata"].get("ownerReferences") or []
    return any(reference["uid"] == owner["metadata"]["uid"] for reference in owners)
