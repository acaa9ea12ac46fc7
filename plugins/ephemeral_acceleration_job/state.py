"""The progress of a job.

The observer reports it in the status with a short delay. Where something must not happen twice, the
live pod is checked as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devctl.api.conditions import find
from devctl.api.ephemeral_acceleration_job import Condition, Phase

_ENDED = {Phase.SUCCEEDED, Phase.FAILED}
_BEGUN = {"Running", "Succeeded", "Failed"}
"""Phases from which a pod never returns to Pending."""


def is_going(thing: Mapping[str, Any] | None) -> bool:
    """Whether an object exists and is being deleted."""
    return bool(thing and thing["metadata"].get("deletionTimestamp"))


def is_finished(job: Mapping[str, Any]) -> bool:
    """Whether the job has ended, which is final."""
    status = job.get("status", {})
    return bool(status.get("finishedAt")) or status.get("phase") in _ENDED


def is_begun(job: Mapping[str, Any], pod: Mapping[str, Any] | None) -> bool:
    """Whether the job's program has started, or never will because the job has ended."""
    started = bool(job.get("status", {}).get("startedAt"))
    return started or is_finished(job) or _has_begun(pod)


def is_true(job: Mapping[str, Any], kind: Condition) -> bool:
    """Whether a condition of the job's status is true."""
    return find(job.get("status", {}), kind).get("status") == "True"


def _has_begun(pod: Mapping[str, Any] | None) -> bool:
    status = (pod or {}).get("status", {})
    states = (
        container.get(name) or {}
        for container in status.get("containerStatuses") or []
        for name in ("state", "lastState")
    )
    # A terminated container may be reported before the pod's phase.
    return status.get("phase") in _BEGUN or any(
        s.keys() & {"running", "terminated"} for s in states
    )
