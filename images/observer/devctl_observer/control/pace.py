"""Does something soon after the first wish, and again only after a while, however many wish it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Pace:
    """Holds an action to a pace."""

    action: Callable[[], None]
    seconds: float
    """From one time to the next."""
    _not_before: float = 0.0
    _waits: bool = False

    def wish(self) -> None:
        """Have it done: at once after a quiet time, else when it is time."""
        if not self._waits:
            self._waits = True
            loop = asyncio.get_running_loop()
            loop.call_at(max(loop.time(), self._not_before), self._act)

    def _act(self) -> None:
        self._waits = False
        self._not_before = asyncio.get_running_loop().time() + self.seconds
        self.action()
