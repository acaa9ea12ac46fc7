"""What time it is, to whom."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

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
