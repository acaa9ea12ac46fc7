"""When a job's role is to be run again.

It has ended, its pod's time is over, a part is lost, or what stood in its way is gone.
"""

from __future__ import annotations

from devctl.api.ephemeral_acceleration_job import claim_name
from devctl_observer.control.role_controller import Cause, Known, usual_cause
from devctl_observer.kinds.jobs.deadlines import pod_expired
from devctl_observer.kinds.jobs.model import Job
from devctl_observer.kinds.jobs.observed import Observed


def cause(job: Job, known: Known) -> Cause:
    """Why the role is to be run again; empty where it is not."""
    if job.finished and not job.going:
        step = "expired" if pod_expired(job) else "finished"
        return step, str(job.status.get("finishedAt", ""))
    return usual_cause(job, known)


def missing(seen: Observed) -> list[str]:
    """What the role makes for the present spec and is not there.

    A pod whose program ran is no loss but an end, and a finished job gets nothing any more.
    """
    job = seen.job
    if job.finished:
        return []
    lost = [] if seen.claim else [claim_name(job.metadata.name)]
    wanted = not (job.spec.suspend or job.started or seen.taken)
    return [*lost, seen.pod_name] if wanted and seen.pod is None else lost
