"""The log: what is new at once, and what goes on once a minute at most."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

_PAUSE = 60.0
"""Seconds between two lines of the same sort."""
_SIGN_OF_LIFE = 600.0
"""Seconds after which the same is said again."""


class Saying:
    """Says what happens.

    Args:
        clock: The monotonic clock.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Have said nothing."""
        self._clock = clock
        self._sort, self._text, self._at = "", "", -math.inf

    def say(self, sort: str, text: str, level: int = logging.INFO) -> None:
        """Log a line, unless it was just said.

        Args:
            sort: Lines of another sort than the last one are news.
            text: The line.
            level: How grave it is.
        """
        passed = self._clock() - self._at
        due = passed >= (_PAUSE if text != self._text else _SIGN_OF_LIFE)
        if sort == self._sort and not due:
            return
        log.log(level, "%s", text)
        self._sort, self._text, self._at = sort, text, self._clock()
