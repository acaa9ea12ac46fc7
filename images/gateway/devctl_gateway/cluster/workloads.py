"""Kueue's Workloads of jobs, and their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from devctl.api.conditions import find
from devctl.api.workloads import EVICTED, FINISHED, QUOTA_RESERVED

_REQUEUED = {"PodsReadyTimeout", "AdmissionCheck"}
"""Why Kueue gives one that it has evicted a new place: otherwise, it keeps its age."""


def says(pending: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The places that Kueue's visibility API tells, by the names of jobs: 1 is next."""
    return {job_of(each): int(each.get("positionInClusterQueue") or 0) + 1 for each in pending}


def places(workloads: Iterable[Mapping[str, Any]], queue: str) -> dict[str, int]:
    """The places in a LocalQueue, by the names of jobs: 1 is next.

    Args:
        workloads: Those of a namespace.
        queue: The LocalQueue.
    """
    waiting = [each for each in workloads if _waits(each, queue)]
    return {job_of(each): place for place, each in enumerate(sorted(waiting, key=_turn), 1)}


def job_of(workload: Mapping[str, Any]) -> str:
    """The Job that a Workload is of, whose name is its GPUWorkerJob's; empty for another owner."""
    owners = workload["metadata"].get("ownerReferences") or []
    return next((str(each["name"]) for each in owners if each["kind"] == "Job"), "")


def _waits(workload: Mapping[str, Any], queue: str) -> bool:
    spec, status = workload["spec"], workload.get("status") or {}
    done = any(find(status, kind).get("status") == "True" for kind in (FINISHED, QUOTA_RESERVED))
    return spec.get("queueName") == queue and spec.get("active", True) and not done


def _turn(workload: Mapping[str, Any]) -> tuple[int, datetime, str]:
    """A higher priority first, then the older one."""
    metadata, evicted = workload["metadata"], find(workload.get("status") or {}, EVICTED)
    since = metadata["creationTimestamp"]
    if evicted.get("status") == "True" and evicted.get("reason") in _REQUEUED:
        since = evicted["lastTransitionTime"]
    priority = int(workload["spec"].get("priority") or 0)
    return -priority, datetime.fromisoformat(since), str(metadata["uid"])
