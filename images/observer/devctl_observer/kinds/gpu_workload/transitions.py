"""Which changes of a workload's status emit Events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from devctl.api.gpu_workload import Phase
from devctl.api.workloads import QUEUED
from devctl_observer.judging.model import Transition
from devctl_observer.kinds.gpu_workload.status import STOPPED

_USUAL = {"Scheduling", "Running", "Completed", QUEUED, STOPPED}
"""Reasons that are normal in a workload's life."""
_SILENT = {"Creating", "Ending", "Deleting", "NotReady"}
"""Reasons that pass within seconds."""


def transitions(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Transition]:
    """The Event for a change of status; a retry is one even if its reason is the same."""
    fields = ("phase", "reason", "attempt", "retryCount")
    same = all(before.get(name) == after.get(name) for name in fields)
    reason = str(after.get("reason"))
    if same or reason in _SILENT:
        return
    if after.get("phase") == Phase.SCHEDULED and reason == before.get("reason"):
        return
    usual = reason in _USUAL and after.get("phase") != Phase.FAILED
    yield Transition("Normal" if usual else "Warning", reason, str(after.get("message", "")))
