"""Jobs as objects of the cluster, and what those say."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from devctl.api.gpu_worker_job import ENDED, GROUP, KIND, VERSION, Phase

Thing = dict[str, Any]
OVER = frozenset(phase.lower() for phase in ENDED)
"""The states, as the API has them, that nothing follows."""
_TOLD = ("reason", "message", "node", "startedAt", "finishedAt", "exitCode")


def parse_time(text: str) -> datetime:
    """A time of Kubernetes' as tables have it.

    >>> parse_time("2026-05-04T12:00:00Z").isoformat()
    '2026-05-04T12:00:00'
    """
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None, microsecond=0)


def manifest(
    job_id: str, namespace: str, spec: Mapping[str, Any], *, cancelled: bool = False
) -> Thing:
    """The GPUWorkerJob of a submission.

    Args:
        job_id: Its name.
        namespace: Where jobs run.
        spec: As it was submitted.
        cancelled: Whether it is to end.
    """
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": job_id, "namespace": namespace},
        "spec": {**spec, "cancelled": cancelled},
    }


def told(job: Thing | None, final: Mapping[str, Any] | None) -> dict[str, Any]:
    """The state of a job, as the API has it.

    Args:
        job: Its GPUWorkerJob; None before there is one, or once it is gone.
        final: What was kept of the status of one that is gone.
    """
    status = _status(job, final)
    state = Phase(status.get("phase") or Phase.PENDING).lower()
    found = {name: status.get(name) for name in _TOLD}
    if not status:
        found |= {"reason": "Submitted", "message": "it is about to be created in the cluster"}
    return {"state": state, **found}


def node_of(job: Thing | None, final: Mapping[str, Any] | None) -> str:
    """The node of a job, as `told` says it; empty if it has none."""
    return str(_status(job, final).get("node") or "")


def _status(job: Thing | None, final: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return (job or {}).get("status") or final or {}


def is_over(job: Thing | None, final: Mapping[str, Any] | None) -> bool:
    """Whether a job has ended, as `told` says it."""
    return told(job, final)["state"] in OVER


def rejected(why: str, *, cancelled: bool) -> dict[str, Any]:
    """What is kept of a job that the API server rejects."""
    if cancelled:
        return {"phase": Phase.CANCELLED, "reason": "Cancelled", "message": "it never started"}
    return {"phase": Phase.FAILED, "reason": "Rejected", "message": why}


def final_of(job: Thing) -> dict[str, Any]:
    """What is kept of the status of a job that has ended."""
    status = job["status"]
    return {name: status[name] for name in ("phase", *_TOLD) if name in status}
