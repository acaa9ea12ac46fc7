"""Which jobs wait, and in which order it is their turn, as far as no queue of Kueue's decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from devctl.api.gpu_worker_job import WAITING, Phase
from devctl.api.gpu_workload import PRIORITIES
from devctl.api.queues import Priority
from devctl.api.workloads import QUEUED
from devctl_gateway.cluster.objects import Thing, parse_time


def in_queue(job: Thing) -> str:
    """The LocalQueue in which a GPUWorkerJob waits; empty if it does not."""
    return str(job["spec"].get("queueName") or "") if _is_pending(job, QUEUED) else ""


def waits_for_room(job: Thing) -> bool:
    """Whether a GPUWorkerJob waits for others to leave a node that could take it."""
    return _is_pending(job, WAITING)


def places(jobs: Mapping[str, Thing], submitted: Mapping[str, datetime]) -> dict[str, int]:
    """The places of those that wait for room, by priority, then by age: 1 is next.

    The scheduler takes them in this order. A smaller one may yet find room before a larger one.

    Args:
        jobs: GPUWorkerJobs by name.
        submitted: When they were submitted; their objects know it to the second only.
    """

    def turn(name: str) -> tuple[int, datetime, str]:
        job = jobs[name]
        made = submitted.get(name) or parse_time(job["metadata"]["creationTimestamp"])
        return -PRIORITIES[Priority(job["spec"].get("priority") or Priority.NORMAL)][1], made, name

    return numbered(sorted((name for name in jobs if waits_for_room(jobs[name])), key=turn))


def numbered(names: Iterable[str]) -> dict[str, int]:
    """Places in an order.

    >>> numbered(["b", "a"])
    {'b': 1, 'a': 2}
    """
    return {name: place for place, name in enumerate(names, 1)}


def _is_pending(job: Thing, reason: str) -> bool:
    status = job.get("status", {})
    pending = (status.get("phase") or Phase.PENDING) == Phase.PENDING
    return pending and status.get("reason") == reason and not job["spec"].get("cancelled", False)
