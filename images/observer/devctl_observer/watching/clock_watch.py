"""Notices that the clock was set: timers count seconds that pass, deadlines are times of day."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

log = logging.getLogger(__name__)

PAUSE = 5.0
_STEP = 1.0
"""Seconds by which the clock may move against the time that passes: it is tuned all the time."""


@dataclass
class ClockWatch:
    """Has everything looked at anew after a step of the clock, or a sleep of the machine."""

    stepped: Callable[[], None]
    """What is to be done then."""
    wall: Callable[[], float] = time.time
    """The time of day in seconds."""
    steady: Callable[[], float] = time.monotonic
    """Seconds that pass, from whenever."""

    def __post_init__(self) -> None:
        """Remember how the clocks stand to each other."""
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
            log.info("the clock was set by %.1f s: every deadline is looked at again", step)
            self.stepped()
