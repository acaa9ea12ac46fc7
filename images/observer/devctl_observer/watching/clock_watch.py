"""Detects steps of the wall clock, which timers do not notice but deadlines depend on."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

log = logging.getLogger(__name__)

PAUSE = 5.0
_STEP = 1.0
"""Seconds by which the wall clock may drift between two checks: NTP adjusts it all the time."""


@dataclass
class ClockWatch:
    """Calls `stepped` after a step of the clock or a sleep of the machine."""

    stepped: Callable[[], None]
    """What to do then."""
    wall: Callable[[], float] = time.time
    """The wall clock, in seconds."""
    steady: Callable[[], float] = time.monotonic
    """Monotonic seconds."""

    def __post_init__(self) -> None:
        """Remember the offset between the clocks."""
        self._apart = self.wall() - self.steady()

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            await asyncio.sleep(PAUSE)
            self.look()

    def look(self) -> None:
        """Compare the clocks once."""
        apart = self.wall() - self.steady()
        step, self._apart = apart - self._apart, apart
        if abs(step) >= _STEP:
            log.info("the clock was set by %.1f s: checking all deadlines again", step)
            self.stepped()
