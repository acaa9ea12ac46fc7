"""The labels of a GPUWorkerJob's children, and whether its Job is created or removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apply.values import Values

from devctl.api.conditions import find
from devctl.api.gpu_worker_job import (
    ENDED,
    INPUT_FILE,
    LABEL,
    Condition,
    config_name,
)
from devctl.api.labels import MANAGED_BY, MANAGER
from gpu_worker_job.job import job_values

_ENDS = {"Complete", "Failed"}


def identity(owner: Mapping[str, Any]) -> dict[str, str]:
    """The labels that identify what belongs to a GPUWorkerJob.

    >>> identity({"metadata": {"name": "job-1"}})["imagepod.dev/gpuworkerjob"]
    'job-1'
    """
    return {MANAGED_BY: MANAGER, LABEL: str(owner["metadata"]["name"])}


def values(
    owner: Mapping[str, Any], *, jobs: list[dict[str, Any]], workers: list[dict[str, Any]]
) -> Values:
    """The values for the templates, and what to remove.

    Args:
        owner: The GPUWorkerJob.
        jobs: The Jobs with its labels.
        workers: All GPUWorkerNodes.
    """
    expired, stopped = has_expired(owner), is_over(owner)
    return Values(
        {
            "config": None if stopped or expired else config_values(owner),
            "job": job_values(owner, identity(owner), workers) if is_made(owner) else None,
        },
        # The pods of a Job that has ended keep their logs.
        remove=[
            job
            for job in jobs
            if _is_removable(owner, job) and (expired or (stopped and not is_finished(job)))
        ],
    )


def config_values(owner: Mapping[str, Any]) -> dict[str, str]:
    """The values for the template of the ConfigMap with the input."""
    return {
        "name": config_name(str(owner["metadata"]["name"])),
        "file": INPUT_FILE.rpartition("/")[2],
        "text": owner["spec"]["inputData"],
    }


def is_made(owner: Mapping[str, Any]) -> bool:
    """Whether the Job is to be created: once, as one that somebody deletes has ended the job."""
    return not is_over(owner) and not owner.get("status", {}).get("jobName")


def is_over(owner: Mapping[str, Any]) -> bool:
    """Whether nothing of it is to run: it was cancelled, or its status says that it has ended.

    Its Job may not have ended then: a container never started, or its node is lost.
    """
    return bool(owner["spec"]["cancelled"]) or owner.get("status", {}).get("phase") in ENDED


def has_expired(owner: Mapping[str, Any]) -> bool:
    """Whether the status tells the role to remove the Job."""
    return find(owner.get("status", {}), Condition.JOB_EXPIRED).get("status") == "True"


def is_finished(job: Mapping[str, Any]) -> bool:
    """Whether a Job has ended."""
    said = job.get("status", {}).get("conditions") or []
    return any(entry["type"] in _ENDS and entry["status"] == "True" for entry in said)


def _is_removable(owner: Mapping[str, Any], job: Mapping[str, Any]) -> bool:
    """Whether a Job is this very owner's, and is not being deleted yet."""
    owners = job["metadata"].get("ownerReferences") or []
    own = any(reference["uid"] == owner["metadata"]["uid"] for reference in owners)
    return own and not job["metadata"].get("deletionTimestamp")
