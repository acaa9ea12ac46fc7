"""What a job does, or how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from devctl.api.ephemeral_acceleration_job import Phase

if TYPE_CHECKING:
    from datetime import datetime


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


def pending(reason: str, message: str) -> Outcome:
    """It has not started."""
    return Outcome(Phase.PENDING, reason, message)


def not_yet(end: Outcome, *, started: bool) -> Outcome:
    """What is said of an end while it is not certain when it was."""
    return Outcome(
        Phase.RUNNING if started or end.started else Phase.PENDING,
        "Ending",
        "the job has ended; that is recorded as soon as the clocks of the observer and of the API "
        "server agree: if that lasts, ask an administrator to set them",
        started=end.started,
    )
