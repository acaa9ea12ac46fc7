"""Which change of a status is worth an Event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.api.devserver import Condition, Phase
from devctl_observer.conditions import find

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Transition(NamedTuple):
    """What an Event tells."""

    type: str
    reason: str
    message: str


def transitions(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Transition]:
    """The Events of a status that became another one."""
    ready = find(after, Condition.READY)
    phase = after.get("phase")
    changed = phase != before.get("phase")
    if changed or ready.get("reason") != find(before, Condition.READY).get("reason"):
        failed = phase == Phase.FAILED or (phase == Phase.PENDING and not _usual(ready))
        reason = str(phase) if _usual(ready) else str(ready.get("reason"))
        yield Transition("Warning" if failed else "Normal", reason, str(ready.get("message", "")))
    for kind in (Condition.FLAVOR_OUTDATED, Condition.EXPIRING):
        now = find(after, kind)
        was_true = find(before, kind).get("status") == "True"
        if now.get("status") == "True" and not was_true:
            severity = "Warning" if kind is Condition.EXPIRING else "Normal"
            yield Transition(severity, str(kind), str(now.get("message", "")))


def _usual(ready: Mapping[str, Any]) -> bool:
    """Whether a reason belongs to every start and stop."""
    return ready.get("reason") in {
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
