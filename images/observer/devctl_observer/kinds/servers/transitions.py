"""Which change of a status is worth an Event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from devctl.api.conditions import find
from devctl.api.devserver import Condition, Phase
from devctl_observer.judging.model import Transition

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
"""Reasons that belong to every start and stop."""


def transitions(
    before: Mapping[str, Any], after: Mapping[str, Any], not_applied: str = ""
) -> Iterator[Transition]:
    """The Events of a status that became another one.

    Args:
        before: What it said.
        after: What it says.
        not_applied: What is added to the Ready message where a change could not be made.
    """
    ready = find(after, Condition.READY)
    if not_applied:
        generation = f"generation {ready.get('observedGeneration')}"
        yield Transition("Warning", "NotApplied", not_applied, generation)
    phase = after.get("phase")
    changed = phase != before.get("phase")
    if changed or ready.get("reason") != find(before, Condition.READY).get("reason"):
        usual = ready.get("reason") in _USUAL
        failed = phase == Phase.FAILED or (phase == Phase.PENDING and not usual)
        reason = str(phase if usual else ready.get("reason"))
        yield Transition("Warning" if failed else "Normal", reason, str(ready.get("message", "")))
    for kind in (Condition.RESTART_REQUIRED, Condition.FLAVOR_OUTDATED, Condition.EXPIRING):
        now = find(after, kind)
        if _holds(after, kind) and not _holds(before, kind):
            severity = "Warning" if kind is Condition.EXPIRING else "Normal"
            yield Transition(severity, str(kind), str(now.get("message", "")))


def _holds(status: Mapping[str, Any], kind: Condition) -> bool:
    """Whether a condition is to be told of."""
    if find(status, kind).get("status") != "True":
        return False
    if kind is Condition.RESTART_REQUIRED:
        return True
    # A change of spec.flavor is told of once, as RestartRequired.
    other = find(status, kind).get("reason") == "OtherFlavor"
    return not (other and find(status, Condition.RESTART_REQUIRED).get("status") == "True")
