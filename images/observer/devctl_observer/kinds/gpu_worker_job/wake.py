"""When to trigger a job's role again: its Job is to be stopped or removed, or as usual."""

from __future__ import annotations

from devctl_observer.control.role_controller import Cause, Known, usual_cause
from devctl_observer.kinds.gpu_worker_job.observed import Observed


def cause(seen: Observed, known: Known) -> Cause:
    """Why to trigger the role; empty for no reason.

    Args:
        seen: The job, with the status that the role will see.
        known: What the process knows besides.
    """
    item = seen.item
    if item.going:
        return ()
    if item.finished:
        at = str(item.status.get("finishedAt", ""))
        if item.expired:
            return "expired", at
        return ("over", at) if seen.job and seen.ended_at is None else ()
    return usual_cause(item, known)


def missing(seen: Observed) -> list[str]:
    """The children that the role creates and that are missing: before there was a Job, that."""
    item = seen.item
    if item.finished or item.spec.cancelled or seen.job or item.status.get("jobName"):
        return []
    return [item.metadata.name]
