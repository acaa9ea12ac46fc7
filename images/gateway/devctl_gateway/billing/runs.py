"""A GPUWorkerJob's runs, as the observer has recorded them, and their cost until now."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from devctl.api.gpu_worker_job import ENDED, Phase
from devctl_gateway.cluster.objects import parse_time
from devctl_gateway.store.runs import Run


def finished_runs(job: Mapping[str, Any]) -> list[Run]:
    """The runs of a GPUWorkerJob that have an end."""
    return [run_of(job, each) for each in _runs(job) if "finishedAt" in each]


def open_runs(job: Mapping[str, Any], now: datetime) -> list[Run]:
    """The others, as if they ended now, or when the job's time was up, if that is earlier.

    A run whose end nobody has seen yet, as its node is lost, does not cost more and more.
    """
    going = [each for each in _runs(job) if "finishedAt" not in each]
    return [run_of(job, each, min(now, _longest(job, each, now))) for each in going]


def is_settled(job: Mapping[str, Any]) -> bool:
    """Whether a GPUWorkerJob has ended, and all its runs with it."""
    phase = Phase(job.get("status", {}).get("phase") or Phase.PENDING)
    return phase in ENDED and all("finishedAt" in each for each in _runs(job))


def run_of(job: Mapping[str, Any], run: Mapping[str, Any], now: datetime | None = None) -> Run:
    """A run of a status as a row."""
    started = parse_time(run["startedAt"])
    finished = now if now is not None else parse_time(run["finishedAt"])
    return Run(
        str(run["podUID"]),
        str(job["metadata"]["name"]),
        str(run["node"]),
        started,
        max(started, finished),
    )


def _longest(job: Mapping[str, Any], run: Mapping[str, Any], now: datetime) -> datetime:
    """When a run ends at the latest; now, if its job has no such time."""
    seconds = job.get("spec", {}).get("timeoutSeconds")
    return now if seconds is None else parse_time(run["startedAt"]) + timedelta(seconds=seconds)


def _runs(job: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = job.get("status", {}).get("runs") or []
    return found
