"""When to trigger a job's role again.

The job has ended, its pod has expired, a child is lost, or an obstacle is gone.
"""

from __future__ import annotations

from devctl.api.ephemeral_acceleration_job import claim_name
from devctl_observer.control.role_controller import Cause, Known, usual_cause
from devctl_observer.kinds.jobs.deadlines import pod_expired
from devctl_observer.kinds.jobs.endings import stop_of_absent
from devctl_observer.kinds.jobs.model import Job
from devctl_observer.kinds.jobs.observed import Observed


def cause(job: Job, known: Known) -> Cause:
    """Why to trigger the role; empty for no reason."""
    if job.finished and not job.going:
        step = "expired" if pod_expired(job) else "finished"
        return step, str(job.status.get("finishedAt", ""))
    return usual_cause(job, known)


def missing(seen: Observed) -> list[str]:
    """The children that the role creates for the current spec and that are missing.

    A missing pod whose program ran, or that Kueue has stopped, means the end, not a loss, and a
    finished job gets no children.
    """
    job = seen.job
    if job.finished:
        return []
    lost = [] if seen.claim else [claim_name(job.metadata.name)]
    over = job.started or stop_of_absent(seen)
    wanted = not (job.spec.suspend or over or seen.taken)
    return [*lost, seen.pod_name] if wanted and seen.pod is None else lost
