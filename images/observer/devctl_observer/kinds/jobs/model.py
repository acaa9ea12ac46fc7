"""The parts of a job that the observer reads, and its outcome."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import msgspec

from devctl.api import kinds
from devctl.api.ephemeral_acceleration_job import Phase
from devctl_observer.control.kind import kind_of
from devctl_observer.judging.model import Base, Item

_ENDS = {str(Phase.SUCCEEDED), str(Phase.FAILED)}


class Output(Base, frozen=True):
    """Where the result is written."""

    path: str = "/artifacts/output.json"


class JobSpec(Base, frozen=True):
    """The spec, with the defaults of the schema."""

    owner: str = ""
    """The owner of the files on its volume; empty for a job from a release without owners."""
    flavor: str = ""
    """The flavor whose quota it counts against; empty if it waits in no queue."""
    team: str = ""
    output: Output = Output()
    ttl_seconds_after_finished: int = 0
    pvc_ttl_seconds_after_finished: int = msgspec.field(
        default=3600, name="pvcTTLSecondsAfterFinished"
    )
    suspend: bool = False


class Job(Item, frozen=True):
    """An EphemeralAccelerationJob."""

    spec: JobSpec = JobSpec()

    @property
    def finished(self) -> bool:
        """Whether it has ended, which is final."""
        return self.status.get("phase") in _ENDS

    @property
    def team(self) -> str:
        """The team in whose queue it waits; empty if it waits in none."""
        return self.spec.team if self.spec.flavor else ""

    @property
    def started(self) -> bool:
        """Whether its program is known to have run."""
        return bool(self.status.get("startedAt"))


JOB = kind_of(kinds.JOB, Job)


@dataclass(frozen=True)
class Outcome:
    """The phase of a job, the reason, and what its owner can do."""

    phase: Phase
    reason: str
    message: str
    started: datetime | None = None
    """When its program started, according to its node; None if unknown."""
    finished: datetime | None = None
    exit_code: int | None = None
    absence: bool = False
    """Whether it follows from the absence of something, which a cache cannot prove."""

    @property
    def ended(self) -> bool:
        """Whether the phase is final."""
        return self.phase in {Phase.SUCCEEDED, Phase.FAILED}
