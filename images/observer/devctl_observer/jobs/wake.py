"""When a job's role is to be run again.

It has ended, its pod's time is over, a part is lost, or what stood in its way is gone.

The annotation's value is a digest of the cause, so that it is written once for each, whoever looks
and however often.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from devctl.api.applied import Reason
from devctl.api.ephemeral_acceleration_job import claim_name
from devctl_observer.jobs.deadlines import pod_expired
from devctl_observer.judging.applied import failure, role_said
from devctl_observer.judging.conditions import TRUE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl_observer.jobs.model import Job
    from devctl_observer.jobs.observed import Observed


_IN_THE_WAY = {Reason.CONFLICT, Reason.TERMINATING}
"""Why a role cannot, where an earlier job's pod or claim is still there."""


def wake_value(job: Job, lost: Sequence[str], gone: str, born: str, grew: str) -> str | None:
    """What the annotation should say; None where nobody needs to be woken.

    Args:
        job: As it is stored.
        lost: What of it is gone, and is to be made again.
        gone: What went last, as far as this process saw it: tells a loss from every other one.
        born: Stands for that where this process saw nothing go.
        grew: Stands for the last time that there was more room in the quotas of its namespace.
    """
    if job.going:
        return None
    if job.finished:
        step = "expired" if pod_expired(job) else "finished"
        return _digest(job.metadata.uid, step, str(job.status.get("finishedAt", "")))
    reason = failure(job).get("reason")
    if reason == Reason.QUOTA_EXCEEDED:
        return _digest(job.metadata.uid, "room", grew)
    if gone and reason in _IN_THE_WAY:
        return _digest(job.metadata.uid, "freed", gone)
    return _digest(job.metadata.uid, "lost", *lost, gone or born) if lost else None


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


def _digest(*cause: str) -> str:
    return hashlib.sha256("\n".join(cause).encode()).hexdigest()[:16]
