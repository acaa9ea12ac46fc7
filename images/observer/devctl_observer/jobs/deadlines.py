"""When a finished job's pod and volume go, and when to look again. Doubt never deletes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.ephemeral_acceleration_job import Condition
from devctl_observer.judging.clocks import AGREE
from devctl_observer.judging.conditions import TRUE, find
from devctl_observer.judging.timestamps import from_text

if TYPE_CHECKING:
    from devctl_observer.jobs.model import Job
    from devctl_observer.jobs.observed import Observed
    from devctl_observer.judging.clocks import Clocks

_MARGIN = timedelta(seconds=1)
"""Timers may fire a moment early; a second later it is certainly time."""


class Times(NamedTuple):
    """When a job ended, and when what goes."""

    finished: datetime
    pod: datetime
    artifacts: datetime

    def trusted(self, clocks: Clocks) -> bool:
        """Whether the end is over by every clock."""
        return clocks.passed(self.finished - AGREE)

    def due(self, at: datetime, clocks: Clocks) -> bool:
        """Whether a time has come that counts from the end."""
        return self.trusted(clocks) and clocks.passed(at)


def times(job: Job, finished: datetime | None) -> Times | None:
    """When what of a job that ended then goes; None where that is not known.

    A pod that was let go keeps its time, so that the status does not speak of the future. The
    volume's time moves with both fields: it never goes before the pod would.
    """
    if finished is None:
        return None
    spec = job.spec
    try:
        pod = finished + timedelta(seconds=spec.ttl_seconds_after_finished)
        volume = finished + timedelta(seconds=spec.pvc_ttl_seconds_after_finished)
    except OverflowError:
        return None
    stored = from_text(job.status.get("podExpiresAt"))
    gone = stored if stored and pod_expired(job) else pod
    return Times(finished, gone, max(volume, pod, gone))


def pod_expired(job: Job) -> bool:
    """Whether the role was told to remove the pod."""
    return find(job.status, Condition.POD_EXPIRED).get("status") == TRUE


def finished_at(job: Job) -> datetime | None:
    """When a job ended, as its status says."""
    return from_text(job.status.get("finishedAt")) if job.finished else None


def next_look(seen: Observed, now: datetime) -> timedelta | None:
    """How long until time alone changes something about a job; zero where it should have."""
    job = seen.job
    if job.going:
        return None
    waits: list[datetime] = []
    if job.finished:
        at = times(job, finished_at(job))
        if at and not pod_expired(job):
            waits.append(at.pod)
        if at and seen.claim:
            waits.append(at.artifacts)
    elif seen.pod and seen.pod.metadata and seen.pod.metadata.deletionTimestamp:
        waits.append(seen.pod.metadata.deletionTimestamp)
    if not waits:
        return None
    wait = min(waits) - now
    return wait + _MARGIN if wait > timedelta(0) else timedelta(0)
