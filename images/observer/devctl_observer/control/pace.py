"""Does something soon after the first wish, and again only after a while, however many wish it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Pace:
    """Holds an action to a pace.

    Args:
        action: What is done.
        seconds: From one time to the next.
    """

    def __init__(self, action: Callable[[], None], seconds: float) -> None:
        """Wish nothing yet."""
        self._action = action
        self._seconds = seconds
        self._not_before = 0.0
        self._waits = False

    def wish(self) -> None:
        """Have it done: at once after a quiet time, else when it is time."""
        if not self._waits:
            self._waits = True
            loop = asyncio.get_running_loop()
            loop.call_at(max(loop.time(), self._not_before), self._act)

    def _act(self) -> None:
        self._waits = False
        self._not_before = asyncio.get_running_loop().time() + self._seconds
        self._action()
