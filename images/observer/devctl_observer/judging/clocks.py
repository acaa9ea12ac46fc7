"""Timestamps as Kubernetes writes them, and the current time by several clocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

AGREE = timedelta(minutes=1)
"""Maximum difference of two clocks that are both right."""


@dataclass(frozen=True)
class Clocks:
    """The current time by our clock and by the API server's."""

    ours: datetime
    theirs: datetime | None = None
    """The API server's; known only right after a request to it."""

    @property
    def known(self) -> Sequence[datetime]:
        """All known times."""
        return [self.ours] if self.theirs is None else [self.ours, self.theirs]

    @property
    def latest(self) -> datetime:
        """The latest known time."""
        return max(self.known)

    @property
    def agree(self) -> bool:
        """Whether both are known and agree."""
        return self.theirs is not None and abs(self.ours - self.theirs) <= AGREE

    def passed(self, moment: datetime) -> bool:
        """Whether a moment has passed by every known clock."""
        return all(now >= moment for now in self.known)


def to_text(moment: datetime) -> str:
    """Format a moment in UTC, to the second, as in metadata.creationTimestamp."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def utc_now() -> datetime:
    """The current time by this machine's clock."""
    return datetime.now(UTC)


def from_text(text: object) -> datetime | None:
    """Parse a timestamp, to UTC; None if it is invalid or has no time zone."""
    try:
        found = datetime.fromisoformat(str(text))
        return found.astimezone(UTC) if found.tzinfo else None
    except (ValueError, OverflowError):
        return None
