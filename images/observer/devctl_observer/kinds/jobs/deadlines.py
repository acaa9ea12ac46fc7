"""When a finished job's pod and volume go, and what is said of that. Doubt never deletes."""

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
    elif seen.pod and (until := ends_at(seen.pod)):
        waits.append(until)
    if not waits:
        return None
    wait = min(waits) - now
    return wait + _MARGIN if wait > timedelta(0) else timedelta(0)


_NOT_TRUSTED = "it is not known for certain when the job ended, so nothing is deleted: an \
administrator should check the clocks"


def pod_condition(job: Job, at: Times | None, clocks: Clocks) -> dict[str, Any]:
    """The PodExpired condition; it turns True only by both clocks, and then stays."""
    kind = Condition.POD_EXPIRED
    expired = "its time to stay is over: the operator removes the pod"
    if pod_expired(job):
        return condition(kind, TRUE, "Expired", expired)
    if at is None or not at.trusted(clocks):
        return condition(kind, UNKNOWN, "ClockNotTrusted", _NOT_TRUSTED)
    if clocks.theirs is not None and at.due(at.pod, clocks):
        return condition(kind, TRUE, "Expired", expired)
    message = f"the pod stays until {to_text(at.pod)}; spec.ttlSecondsAfterFinished moves that"
    return condition(kind, FALSE, "Kept", message)


def artifacts_condition(
    seen: Observed, at: Times | None, clocks: Clocks, users: Sequence[str] = ()
) -> dict[str, Any]:
    """The ArtifactsExpired condition.

    Args:
        seen: The job, and its claim as long as that is to stay.
        at: When what goes.
        clocks: What time it is.
        users: Pods that keep the volume from being deleted.
    """
    kind = Condition.ARTIFACTS_EXPIRED
    if seen.claim is None:
        return _without_claim(seen.job, over=bool(at and at.due(at.artifacts, clocks)))
    if at is None or not at.trusted(clocks):
        return condition(kind, UNKNOWN, "ClockNotTrusted", _NOT_TRUSTED)
    if users and at.due(at.artifacts, clocks):
        names = listed([f"`{name}`" for name in users], 5)
        message = f"its time is over, but pod {names} uses it: it goes when they have ended"
        return condition(kind, FALSE, "InUse", message)
    move = "spec.pvcTTLSecondsAfterFinished moves that"
    message = f"the volume stays until {to_text(at.artifacts)}; {move}"
    return condition(kind, FALSE, "Kept", message)


def _without_claim(job: Job, *, over: bool) -> dict[str, Any]:
    kind = Condition.ARTIFACTS_EXPIRED
    before = find(job.status, kind)
    name = claim_name(job.metadata.name)
    if before.get("status") == TRUE:
        # Told once: time that passes makes no end of its own out of a loss.
        over = before.get("reason") != "VolumeGone"
    if over:
        return condition(kind, TRUE, "Expired", f"its time is over: volume `{name}` was deleted")
    return condition(kind, TRUE, "VolumeGone", f"volume `{name}` was deleted before its time")
