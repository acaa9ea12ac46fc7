"""Runs a step again and again; what goes wrong is logged, and is no end."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

log = logging.getLogger(__name__)

_LONGEST_PAUSE = 60.0
_SHORTEST_PAUSE = 0.2
"""Of many nudges, those within so many seconds cost one step."""


@dataclass(frozen=True)
class Loop:
    """A step that can be repeated, at any time and by several replicas.

    Attributes:
        name: For the log.
        step: What is done.
        seconds: How long until it is done again, about; it doubles with each failure.
        nudge: Set by whoever wants it to be done at once.
    """

    name: str
    step: Callable[[], Awaitable[object]]
    seconds: float
    nudge: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Repeat the step until cancelled."""
        failures = 0
        while True:
            self.nudge.clear()
            try:
                await self.step()
                failures = 0
            except Exception:  # whatever it is, the other loops and requests go on
                failures += 1
                log.exception("%s", self.name)
            pause = min(_LONGEST_PAUSE, self.seconds * 2 ** min(failures, 10))
            await asyncio.sleep(_SHORTEST_PAUSE)
            await self._wait(pause * random.uniform(0.75, 1.25))  # noqa: S311 - jitter

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.nudge.wait()
        except TimeoutError:
            return
