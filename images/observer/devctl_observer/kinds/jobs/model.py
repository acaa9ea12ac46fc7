"""A job, as far as the observer reads it, and what is said of it."""

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
    """Where the result goes."""

    path: str = "/artifacts/output.json"


class JobSpec(Base, frozen=True):
    """What the user wants; defaults are those of the schema."""

    owner: str = ""
    """Whose files are on its volume; empty for one of a release that knew no owners."""
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
        """Whether it has ended, for ever."""
        return self.status.get("phase") in _ENDS

    @property
    def started(self) -> bool:
        """Whether its program is known to have run."""
        return bool(self.status.get("startedAt"))


JOB = kind_of(kinds.JOB, Job)


@dataclass(frozen=True)
class Outcome:
    """What a job does, why, and what its owner can do about it."""

    phase: Phase
    reason: str
    message: str
    started: datetime | None = None
    """When its program started, as its node says; None where that is not known."""
    finished: datetime | None = None
    exit_code: int | None = None
    absence: bool = False
    """Whether it follows from what was not seen, which a cache does not know for certain."""

    @property
    def ended(self) -> bool:
        """Whether it is for ever."""
        return self.phase in {Phase.SUCCEEDED, Phase.FAILED}
