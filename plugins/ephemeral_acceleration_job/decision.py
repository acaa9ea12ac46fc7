"""What becomes of a job's pod.

A pod is made once, never changed, and never made again once it has started: its program may have
written half a result. Until then it may be removed, and a later run makes it anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from devctl.api.ephemeral_acceleration_job import MADE_FROM, Condition
from ephemeral_acceleration_job.state import is_begun, is_finished, is_going, is_true


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
    begun = is_begun(job, pod)
    # A pod that waits holds the claim that is to go, and would wait for ever for another.
    unwanted = job["spec"].get("suspend", False) or is_going(claim)
    if pod is None:
        return Decision.KEEP if begun or unwanted else Decision.MAKE
    if begun:
        over = is_finished(job) and is_true(job, Condition.POD_EXPIRED)
    else:
        annotations = pod["metadata"].get("annotations") or {}
        over = unwanted or annotations.get(MADE_FROM) != made_from
    return Decision.REMOVE if over and not is_going(pod) else Decision.KEEP
