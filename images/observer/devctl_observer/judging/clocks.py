"""Times as Kubernetes writes them, and what time it is, to whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

AGREE = timedelta(minutes=1)
"""Clocks that are further apart are not both right."""


@dataclass(frozen=True)
class Clocks:
    """What time it is, to whom."""

    ours: datetime
    theirs: datetime | None = None
    """The API server's; known only right after it was asked."""

    @property
    def known(self) -> Sequence[datetime]:
        """All of them."""
        return [self.ours] if self.theirs is None else [self.ours, self.theirs]

    @property
    def latest(self) -> datetime:
        """The one that is furthest."""
        return max(self.known)

    @property
    def agree(self) -> bool:
        """Whether both are known, and say the same."""
        return self.theirs is not None and abs(self.ours - self.theirs) <= AGREE

    def passed(self, moment: datetime) -> bool:
        """Whether a moment is over by every clock."""
        return all(now >= moment for now in self.known)


def to_text(moment: datetime) -> str:
    """Seconds in UTC, as in metadata.creationTimestamp."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def utc_now() -> datetime:
    """This machine's idea of the present."""
    return datetime.now(UTC)


def from_text(text: object) -> datetime | None:
    """The moment that a status names, in UTC; None where it names none, as without a time zone."""
    try:
        found = datetime.fromisoformat(str(text))
        return found.astimezone(UTC) if found.tzinfo else None
    except (ValueError, OverflowError):
        return None
