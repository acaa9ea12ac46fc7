"""What becomes of a job's pod.

A pod is made once, never changed, and never made again once it has started: its program may have
written half a result. Until then it may be removed, and a later run makes it anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from devctl.api.ephemeral_acceleration_job import MADE_FROM, Condition
from ephemeral_acceleration_job.state import is_finished, is_going, is_started, is_true


class Decision(Enum):
    """What a run does about the pod."""

    MAKE = auto()
    KEEP = auto()
    """Leave it as it is, be it there or not."""
    REMOVE = auto()


def decide(
    job: Mapping[str, Any],
    pod: Mapping[str, Any] | None,
    claim: Mapping[str, Any] | None,
    made_from: str,
) -> Decision:
    """What to do about a job's pod.

    Args:
        job: The job.
        pod: Its pod as it is now; None where there is none, or only one of an earlier job.
        claim: Its claim as it is now; None where there is none.
        made_from: The digest of what a pod would be made from now.
    """
    if pod is None:
        return Decision.MAKE if _may_be_made(job, claim) else Decision.KEEP
    if is_going(pod):
        return Decision.KEEP
    if is_finished(job):
        return Decision.REMOVE if is_true(job, Condition.POD_EXPIRED) else Decision.KEEP
    if is_started(job, pod):
        return Decision.KEEP
    annotations = pod["metadata"].get("annotations") or {}
    # A pod that waits holds the claim that is to go, and would wait for ever for another.
    outdated = (
        job["spec"].get("suspend", False)
        or is_going(claim)
        or annotations.get(MADE_FROM) != made_from
    )
    return Decision.REMOVE if outdated else Decision.KEEP


def _may_be_made(job: Mapping[str, Any], claim: Mapping[str, Any] | None) -> bool:
    begun = is_finished(job) or is_started(job, None)
    return not (begun or job["spec"].get("suspend", False) or is_going(claim))
