"""The clock of the ledger: the API server's, which goes on by the monotonic clock."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime


@dataclass
class Timeline:
    """Whole seconds since 1970.

    The API server is asked once by each process. From then on, nobody can set this clock; and
    processes that take over from each other agree about it, wherever they run.
    """

    steady: Callable[[], float]
    """Monotonic seconds."""
    _ahead: float | None = None

    async def start(self, ask: Callable[[], Awaitable[datetime]]) -> None:
        """Learn the API server's time, unless that is known."""
        if self._ahead is None:
            told = await ask()
            self._ahead = told.timestamp() - self.steady()

    def at(self, steady: float) -> int:
        """A moment of the monotonic clock."""
        assert self._ahead is not None  # noqa: S101 - started
        return math.floor(self._ahead + steady)

    def now(self) -> int:
        """The current second."""
        return self.at(self.steady())
