"""Whether a job's pod is created, kept or removed.

A pod is created once, never changed, and not recreated once it has started: its program may have
written half a result. Until then it may be removed, and a later run recreates it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from devctl.api.ephemeral_acceleration_job import MADE_FROM, Condition
from ephemeral_acceleration_job.state import is_begun, is_finished, is_going, is_true


class Decision(Enum):
    """What a run does with the pod."""

    MAKE = auto()
    KEEP = auto()
    """Leave it as it is, whether it exists or not."""
    REMOVE = auto()


def decide(
    job: Mapping[str, Any],
    pod: Mapping[str, Any] | None,
    claim: Mapping[str, Any] | None,
    made_from: str,
) -> Decision:
    """What to do with a job's pod.

    Args:
        job: The job.
        pod: Its current pod; None if there is none, or only that of an earlier job.
        claim: Its current claim; None if there is none.
        made_from: The digest for a pod created now.
    """
    begun = is_begun(job, pod)
    # A pending pod keeps a terminating claim alive, and would wait forever for another.
    unwanted = job["spec"].get("suspend", False) or is_going(claim)
    if pod is None:
        return Decision.KEEP if begun or unwanted else Decision.MAKE
    if begun:
        over = is_finished(job) and is_true(job, Condition.POD_EXPIRED)
    else:
        annotations = pod["metadata"].get("annotations") or {}
        over = unwanted or annotations.get(MADE_FROM) != made_from
    return Decision.REMOVE if over and not is_going(pod) else Decision.KEEP
