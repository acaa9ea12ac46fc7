"""Which changes of a job's status emit Events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from devctl.api.conditions import find
from devctl.api.ephemeral_acceleration_job import Condition, Phase
from devctl_observer.judging.conditions import TRUE
from devctl_observer.judging.model import Transition
from devctl_observer.kinds.jobs.endings import STOPS

_USUAL = {"NotApplied", "Suspended", "Scheduling", "Creating", "Queued", "Deleting", "Running"}
"""Reasons that are normal in every job's life."""


def transitions(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Transition]:
    """The Events for a change of status."""
    same = before.get("reason") == after.get("reason")
    # What Kueue stops is reported before it ends.
    told = same and (before.get("phase") == after.get("phase") or after.get("reason") in STOPS)
    if not told and after.get("reason") != "Ending":
        yield _of_phase(after)
    for kind in (Condition.POD_EXPIRED, Condition.ARTIFACTS_EXPIRED):
        said, earlier = find(after, kind), find(before, kind)
        if said.get("reason") == earlier.get("reason"):
            continue
        if said.get("status") == TRUE:
            yield Transition("Normal", str(kind), str(said.get("message", "")))
        elif said.get("reason") in {"InUse", "ClockNotTrusted"}:
            yield Transition("Warning", str(said["reason"]), str(said.get("message", "")))


def _of_phase(status: Mapping[str, Any]) -> Transition:
    phase, reason = str(status.get("phase")), str(status.get("reason"))
    message = str(status.get("message", ""))
    if phase == Phase.SUCCEEDED:
        return Transition("Normal", phase, message)
    usual = phase != Phase.FAILED and reason in _USUAL
    return Transition("Normal" if usual else "Warning", reason, message)
