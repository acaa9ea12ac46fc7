"""When a finished job's pod and volume expire. Nothing is deleted while there is doubt."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from devctl.api.conditions import find
from devctl.api.ephemeral_acceleration_job import Condition, claim_name
from devctl.api.messages import listed
from devctl_observer.judging.clocks import AGREE, Clocks, from_text, to_text
from devctl_observer.judging.conditions import FALSE, TRUE, UNKNOWN, condition
from devctl_observer.judging.pods import ends_at
from devctl_observer.kinds.jobs.model import Job
from devctl_observer.kinds.jobs.observed import Observed

_MARGIN = timedelta(seconds=1)
"""Added to waits, because timers may fire slightly early."""


class Times(NamedTuple):
    """When a job ended, and when its pod and its volume expire."""

    finished: datetime
    pod: datetime
    artifacts: datetime

    def trusted(self, clocks: Clocks) -> bool:
        """Whether the end is in the past by every clock, within their tolerance."""
        return clocks.passed(self.finished - AGREE)

    def due(self, at: datetime, clocks: Clocks) -> bool:
        """Whether a deadline that counts from the end has passed."""
        return self.trusted(clocks) and clocks.passed(at)


def times(job: Job, finished: datetime | None) -> Times | None:
    """The deadlines of a job that ended at `finished`; None if they are unknown.

    An expired pod keeps its stored deadline, so that it does not move into the future. The volume's
    deadline depends on both fields, because it is never before the pod's.
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
    """Whether the status tells the role to remove the pod."""
    return find(job.status, Condition.POD_EXPIRED).get("status") == TRUE


def finished_at(job: Job) -> datetime | None:
    """When a job ended, according to its status."""
    return from_text(job.status.get("finishedAt")) if job.finished else None


def next_look(seen: Observed, now: datetime) -> timedelta | None:
    """How long until the next deadline of a job; zero if it has passed, None without one."""
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
    elif seen.pod and (until := ends_at(seen.pod)):
        waits.append(until)
    if not waits:
        return None
    wait = min(waits) - now
    return wait + _MARGIN if wait > timedelta(0) else timedelta(0)


_NOT_TRUSTED = "it is uncertain when the job ended, so nothing is deleted: ask an administrator to \
check the clocks"


def pod_condition(job: Job, at: Times | None, clocks: Clocks) -> dict[str, Any]:
    """The condition PodExpired; it becomes True only if both clocks agree, and remains so."""
    kind = Condition.POD_EXPIRED
    expired = "spec.ttlSecondsAfterFinished has passed: the operator removes the pod"
    if pod_expired(job):
        return condition(kind, TRUE, "Expired", expired)
    if at is None or not at.trusted(clocks):
        return condition(kind, UNKNOWN, "ClockNotTrusted", _NOT_TRUSTED)
    if clocks.theirs is not None and at.due(at.pod, clocks):
        return condition(kind, TRUE, "Expired", expired)
    field = "spec.ttlSecondsAfterFinished"
    message = f"the pod is kept until {to_text(at.pod)}; to change that, set {field}"
    return condition(kind, FALSE, "Kept", message)


def artifacts_condition(
    seen: Observed, at: Times | None, clocks: Clocks, users: Sequence[str] = ()
) -> dict[str, Any]:
    """The condition ArtifactsExpired.

    Args:
        seen: The job, and its claim unless that is being deleted.
        at: The job's deadlines.
        clocks: The current time.
        users: Pods that keep the volume from being deleted.
    """
    kind = Condition.ARTIFACTS_EXPIRED
    if seen.claim is None:
        return _without_claim(seen.job, over=bool(at and at.due(at.artifacts, clocks)))
    if at is None or not at.trusted(clocks):
        return condition(kind, UNKNOWN, "ClockNotTrusted", _NOT_TRUSTED)
    if users and at.due(at.artifacts, clocks):
        names = listed([f"`{name}`" for name in users], 5)
        message = f"the volume has expired; it is deleted once these pods have ended: {names}"
        return condition(kind, FALSE, "InUse", message)
    field = "spec.pvcTTLSecondsAfterFinished"
    message = f"the volume is kept until {to_text(at.artifacts)}; to change that, set {field}"
    return condition(kind, FALSE, "Kept", message)


def _without_claim(job: Job, *, over: bool) -> dict[str, Any]:
    kind = Condition.ARTIFACTS_EXPIRED
    before = find(job.status, kind)
    name = claim_name(job.metadata.name)
    if before.get("status") == TRUE:
        # Reported once: a lost volume does not expire later.
        over = before.get("reason") != "VolumeGone"
    if over:
        return condition(kind, TRUE, "Expired", f"volume `{name}` expired and was deleted")
    return condition(kind, TRUE, "VolumeGone", f"volume `{name}` was deleted before it expired")
