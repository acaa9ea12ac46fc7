"""Why the scheduler has no node for a pod."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from devctl.api.devserver import Phase
from devctl_observer.model import Verdict

if TYPE_CHECKING:
    from lightkube.models.core_v1 import PodCondition

_INSUFFICIENT = re.compile(r"Insufficient ([A-Za-z0-9./_-]*[A-Za-z0-9])")
_ABSENT = re.compile(r'persistentvolumeclaim "([^"]*)" not found')
_VOLUME = re.compile(
    r"unbound immediate PersistentVolumeClaims|persistentvolumeclaim "
    r"|volume node affinity|didn't find available persistent volumes|volume limit|node\(s\) .*CSI"
)


def judge_scheduling(condition: PodCondition) -> Verdict:
    """What a PodScheduled condition that is not True means."""
    # What follows is what preemption would give, which a user can do nothing about.
    detail = (condition.message or "").partition(" preemption:")[0].strip()
    if condition.reason == "SchedulingGated":
        message = "waits in the queue until there is quota for it"
        return Verdict(Phase.PENDING, "Queued", message)
    if missing := sorted(set(_INSUFFICIENT.findall(detail))):
        what = " and ".join(f"`{name}`" for name in missing)
        advice = "wait until others stop, or choose a smaller flavor"
        message = f"no node has enough free {what}; {advice} ({detail})"
        return Verdict(Phase.PENDING, "Unschedulable", message)
    if absent := _ABSENT.search(detail):
        advice = "make it, or correct spec.sharedVolumeClaimName"
        message = f"claim `{absent[1]}` does not exist; {advice}"
        return Verdict(Phase.PENDING, "VolumePending", message)
    if _VOLUME.search(detail):
        message = f"no node can use its volumes ({detail})"
        return Verdict(Phase.PENDING, "VolumePending", message)
    if "affinity/selector" in detail or "untolerated taint" in detail:
        advice = "choose another flavor, or ask an administrator to add such a node"
        message = f"no node that may be used fits the flavor; {advice} ({detail})"
        return Verdict(Phase.PENDING, "Unschedulable", message)
    message = f"no node takes it ({detail})" if detail else "waits for the scheduler"
    return Verdict(Phase.PENDING, "Unschedulable", message)
