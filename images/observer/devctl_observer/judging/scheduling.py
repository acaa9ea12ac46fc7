"""Why the scheduler finds no node for a pod."""

from __future__ import annotations

import re
from typing import NamedTuple

from lightkube.models.core_v1 import PodCondition

from devctl.api.devserver import Phase
from devctl_observer.judging.model import Verdict

_INSUFFICIENT = re.compile(r"Insufficient ([A-Za-z0-9./_-]*[A-Za-z0-9])")
_ABSENT = re.compile(r'persistentvolumeclaim "([^"]*)" not found')
# The rest is about preemption and devices, which users cannot influence.
_BEYOND = re.compile(r" (?:no new claims to deallocate|preemption:)")
_BACK = "it starts once one does; ask an administrator"


class Words(NamedTuple):
    """The words that differ between our kinds."""

    volume: str
    """The volume with its files."""
    less: str
    """How its owner can request less."""
    other: str
    """What no node fits, and what its owner can do."""
    absent: str = "it is about to be created"
    """What becomes of a claim that does not exist."""


SERVER_WORDS = Words(
    volume="its home",
    less="choose a smaller flavor",
    other="the flavor; choose another flavor",
)
JOB_WORDS = Words(
    volume="its volume",
    less="request less in spec.resources",
    other="the job; request less in spec.resources",
)

_HOME = re.compile(r"PersistentVolume's node affinity|volume node affinity")
_VOLUMES = re.compile(
    r"unbound immediate PersistentVolumeClaims|persistentvolumeclaim "
    r"|didn't find available persistent volumes|volume limit|node\(s\) .*CSI"
)


def judge_scheduling(condition: PodCondition, words: Words) -> Verdict:
    """What a PodScheduled condition that is not True means."""
    detail = _BEYOND.split(condition.message or "")[0].strip()
    if condition.reason == "SchedulingGated":
        message = "queued until there is quota for it"
        return Verdict(Phase.PENDING, "Queued", message)
    if missing := sorted(set(_INSUFFICIENT.findall(detail))):
        what = " and ".join(f"`{name}`" for name in missing)
        advice = f"wait until others stop, or {words.less}"
        message = f"no node has enough free {what}; {advice} ({detail})"
        return Verdict(Phase.PENDING, "Unschedulable", message)
    if absent := _ABSENT.search(detail):
        message = f"claim `{absent[1]}` does not exist yet; {words.absent}"
        return Verdict(Phase.PENDING, "VolumePending", message)
    reason, meaning = _of_nodes(detail, words)
    if meaning:
        return Verdict(Phase.PENDING, reason, f"{meaning} ({detail})")
    message = f"no node accepts it ({detail})" if detail else "waiting for the scheduler"
    return Verdict(Phase.PENDING, reason, message)


def _of_nodes(detail: str, words: Words) -> tuple[str, str]:
    """The reason and its meaning; of several, the most severe one."""
    # An existing volume ties its pod to the volume's node or zone.
    if _HOME.search(detail):
        meaning = f"no node that can reach {words.volume} accepts pods now; {_BACK}"
    elif _VOLUMES.search(detail):
        return "VolumePending", "no node can use its volumes"
    elif "were unschedulable" in detail:
        meaning = f"no node that it may use accepts pods now; {_BACK}"
    elif "affinity/selector" in detail or "untolerated taint" in detail:
        ask = "or ask an administrator to add such a node"
        meaning = f"no available node fits {words.other}, {ask}"
    else:
        meaning = ""
    return "Unschedulable", meaning
