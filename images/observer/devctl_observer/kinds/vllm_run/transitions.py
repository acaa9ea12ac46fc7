"""Which changes of a run's status emit Events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from devctl.api.conditions import find
from devctl.api.vllm_run import Condition, Phase
from devctl_observer.judging.conditions import TRUE
from devctl_observer.judging.model import Transition
from devctl_observer.kinds.vllm_run.checkout import BUILDING

_USUAL = {"Scheduling", "Creating", BUILDING, "Serving", "Running", "Completed", "NotServing"}
"""Reasons that are normal in a run's life."""
_SILENT = {"NotApplied", "Ending", "Deleting", "Scheduling"}
"""Reasons that pass within seconds."""


def transitions(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Transition]:
    """The Events for a change of status."""
    same = all(before.get(name) == after.get(name) for name in ("phase", "reason"))
    reason = str(after.get("reason"))
    if not same and reason not in _SILENT:
        # A port that answered once and does not any more is no start.
        usual = reason in _USUAL and after.get("phase") != Phase.FAILED
        usual = (usual and before.get("phase") != Phase.SERVING) or reason == "Completed"
        yield Transition("Normal" if usual else "Warning", reason, str(after.get("message", "")))
    said = find(after, Condition.POD_EXPIRED)
    if said.get("status") == TRUE and find(before, Condition.POD_EXPIRED).get("status") != TRUE:
        yield Transition("Normal", Condition.POD_EXPIRED, str(said.get("message", "")))
