"""Which changes of a job's status emit Events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from devctl.api.gpu_worker_job import Phase
from devctl_observer.judging.model import Transition

_SILENT = {"Ending", "Deleting", "Waiting", "Creating", "Cancelling"}
"""Reasons that most jobs have for a while."""
_BAD = {"NoNode", "NodeNotReady", "PodRefused", "ImagePullFailed"}


def transitions(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Transition]:
    """The Events for a change of status."""
    same = all(before.get(name) == after.get(name) for name in ("phase", "reason"))
    reason = str(after.get("reason"))
    if not same and reason not in _SILENT:
        bad = after.get("phase") == Phase.FAILED or reason in _BAD
        yield Transition("Warning" if bad else "Normal", reason, str(after.get("message", "")))
