"""Which changes of a server's status emit Events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from devctl.api.conditions import find
from devctl.api.devserver import Condition, Phase
from devctl.api.idleness import Idleness
from devctl.api.workloads import PREEMPTED, QUEUED
from devctl_observer.judging.model import Transition
from devctl_observer.kinds.servers.deadlines import Limit

_USUAL = {
    "Creating",
    "Deleting",
    "NotApplied",
    "NotReady",
    "PodMissing",
    "Ready",
    "Scheduling",
    "Stopped",
    "Stopping",
    "Terminating",
}
"""Reasons that are normal in every start and stop."""
_STOPS = {PREEMPTED, Idleness.STOPPED, Limit.MAX_RUNTIME}
"""Reasons that outlast the stop, so that its phases are no news."""


def transitions(
    before: Mapping[str, Any], after: Mapping[str, Any], not_applied: str = ""
) -> Iterator[Transition]:
    """The Events for a change of status.

    Args:
        before: The old status.
        after: The new status.
        not_applied: The addition to the Ready message, if a change could not be applied.
    """
    ready = find(after, Condition.READY)
    if not_applied:
        generation = f"generation {ready.get('observedGeneration')}"
        yield Transition("Warning", "NotApplied", not_applied, generation)
    phase = after.get("phase")
    same = ready.get("reason") == find(before, Condition.READY).get("reason")
    if not same or (phase != before.get("phase") and ready.get("reason") not in _STOPS):
        usual = ready.get("reason") in _USUAL
        waits = phase == Phase.PENDING and not usual and ready.get("reason") != QUEUED
        failed = phase == Phase.FAILED or waits
        reason = str(phase if usual else ready.get("reason"))
        yield Transition("Warning" if failed else "Normal", reason, str(ready.get("message", "")))
    for kind in (Condition.RESTART_REQUIRED, Condition.FLAVOR_OUTDATED, Condition.EXPIRING):
        now = find(after, kind)
        if _holds(after, kind) and not _holds(before, kind):
            severity = "Warning" if kind is Condition.EXPIRING else "Normal"
            yield Transition(severity, str(kind), str(now.get("message", "")))
    if _holds(after, Condition.RUNTIME_ENDING) and not _holds(before, Condition.RUNTIME_ENDING):
        now = find(after, Condition.RUNTIME_ENDING)
        yield Transition("Warning", str(now.get("reason")), str(now.get("message", "")))
    yield from _idle(before, after)


def _idle(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Transition]:
    """The warning before an idle server is stopped, and that one is idle and is not stopped."""
    was, now = find(before, Condition.IDLE), find(after, Condition.IDLE)
    reason = now.get("reason")
    if reason == was.get("reason") or reason not in {Idleness.SOON, Idleness.IDLE}:
        return
    severity = "Warning" if reason == Idleness.SOON else "Normal"
    yield Transition(severity, str(reason), str(now.get("message", "")))


def _holds(status: Mapping[str, Any], kind: Condition) -> bool:
    """Whether a condition is True and worth an Event."""
    if find(status, kind).get("status") != "True":
        return False
    if kind is Condition.RESTART_REQUIRED:
        return True
    # A change of spec.flavor is reported once, as RestartRequired.
    other = find(status, kind).get("reason") == "OtherFlavor"
    return not (other and find(status, Condition.RESTART_REQUIRED).get("status") == "True")
