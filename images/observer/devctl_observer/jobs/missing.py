"""What of a job somebody has taken away before its program ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.api.ephemeral_acceleration_job import claim_name
from devctl_observer.applied import role_said
from devctl_observer.conditions import TRUE

if TYPE_CHECKING:
    from devctl_observer.jobs.observed import Observed


def missing(seen: Observed) -> list[str]:
    """What the role has made for the present spec and is not there; empty while it is at work.

    A pod whose program ran is no loss but an end, and a finished job gets nothing any more.
    """
    job = seen.job
    if job.finished or job.going or role_said(job).get("status") != TRUE:
        return []
    lost = [] if seen.claim else [claim_name(job.metadata.name)]
    wanted = not (job.spec.suspend or job.started or seen.taken)
    return [*lost, seen.pod_name] if wanted and seen.pod is None else lost
