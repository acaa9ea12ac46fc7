"""The parts of a GPUWorkerJob that the observer reads, and its outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from devctl.api.conditions import find
from devctl.api.gpu_worker_job import ENDED, Condition, Phase
from devctl.api.kinds import GPU_WORKER_JOB
from devctl_observer.control.kind import kind_of
from devctl_observer.judging.clocks import from_text
from devctl_observer.judging.conditions import TRUE
from devctl_observer.judging.model import Base, Item


class GPUWorkerJobSpec(Base, frozen=True):
    """The spec, with the defaults of the schema."""

    cpu_cores: int
    memory_megabytes: int
    gpus: int = 1
    gpu_memory_megabytes: int = 0
    queue_name: str = ""
    cancelled: bool = False
    ttl_seconds_after_finished: int = 86400


class GPUWorkerJob(Item, frozen=True):
    """A GPUWorkerJob."""

    spec: GPUWorkerJobSpec

    @property
    def phase(self) -> Phase:
        """The phase in its status."""
        return Phase(self.status.get("phase") or Phase.PENDING)

    @property
    def finished(self) -> bool:
        """Whether it has ended, which is final."""
        return self.phase in ENDED

    @property
    def runs(self) -> Sequence[Mapping[str, Any]]:
        """When its pods ran, as recorded."""
        return self.status.get("runs") or []

    @property
    def expires_at(self) -> datetime | None:
        """When the Job of a finished one is no longer kept."""
        finished = from_text(self.status.get("finishedAt")) if self.finished else None
        return finished and finished + timedelta(seconds=self.spec.ttl_seconds_after_finished)

    @property
    def expired(self) -> bool:
        """Whether its status tells the role to remove the Job."""
        return find(self.status, Condition.JOB_EXPIRED).get("status") == TRUE


KIND = kind_of(GPU_WORKER_JOB, GPUWorkerJob)


@dataclass(frozen=True)
class Outcome:
    """The phase of a job, the reason, and what its owner can do."""

    phase: Phase
    reason: str
    message: str
    exit_code: int | None = None
    fails_at: datetime | None = None
    """When it has failed for that reason, unless it changes."""

    @property
    def ended(self) -> bool:
        """Whether the phase is final."""
        return self.phase in ENDED
