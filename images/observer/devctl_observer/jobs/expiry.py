"""What is said of a finished job's pod and volume."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.api.ephemeral_acceleration_job import Condition, claim_name
from devctl_observer.jobs.deadlines import pod_expired
from devctl_observer.judging.conditions import FALSE, TRUE, UNKNOWN, condition, find
from devctl_observer.judging.timestamps import to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl_observer.jobs.deadlines import Times
    from devctl_observer.jobs.model import Job
    from devctl_observer.jobs.observed import Observed
    from devctl_observer.judging.clocks import Clocks

_NOT_TRUSTED = "it is not known for certain when the job ended, so nothing is deleted: an \
administrator should check the clocks"
_NAMED = 5
"""How many pods a message lists."""


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
        names = ", ".join(f"`{name}`" for name in users[:_NAMED])
        more = f" and {len(users) - _NAMED} more" if len(users) > _NAMED else ""
        message = f"its time is over, but pod {names}{more} uses it: it goes when they have ended"
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
