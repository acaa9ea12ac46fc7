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
# What comes after it is what preemption and devices would give: a user can do nothing about that.
_BEYOND = re.compile(r" (?:no new claims to deallocate|preemption:)")
_BACK = "it starts when one does again: ask an administrator"
# What is said of nodes, by what weighs more: the words in it, the reason, and what it means.
_NODES = [
    # A volume that is there already binds its pod: to its node, or to its zone.
    (
        re.compile(r"PersistentVolume's node affinity|volume node affinity"),
        "Unschedulable",
        f"no node that its home can be reached from takes pods now; {_BACK}",
    ),
    (
        re.compile(
            r"unbound immediate PersistentVolumeClaims|persistentvolumeclaim "
            r"|didn't find available persistent volumes|volume limit|node\(s\) .*CSI"
        ),
        "VolumePending",
        "no node can use its volumes",
    ),
    (
        re.compile("were unschedulable"),
        "Unschedulable",
        f"no node that it may use takes pods now; {_BACK}",
    ),
    (
        re.compile("affinity/selector|untolerated taint"),
        "Unschedulable",
        (
            "no node that may be used fits the flavor; choose another flavor, or ask an "
            "administrator to add such a node"
        ),
    ),
]


def judge_scheduling(condition: PodCondition) -> Verdict:
    """What a PodScheduled condition that is not True means."""
    detail = _BEYOND.split(condition.message or "")[0].strip()
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
    for said, reason, meaning in _NODES:
        if said.search(detail):
            return Verdict(Phase.PENDING, reason, f"{meaning} ({detail})")
    message = f"no node takes it ({detail})" if detail else "waits for the scheduler"
    return Verdict(Phase.PENDING, "Unschedulable", message)
