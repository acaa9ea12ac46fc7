"""How often something has happened in the last minute, by name."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

MINUTE = 60.0
"""Seconds."""
_CROWD = 10_000
"""Names from which on those are dropped that have not been seen for a minute."""


class Window:
    """A minute that moves on.

    It starts no thread and no timer: a name's times that are over are dropped when it comes again.

    Args:
        most: How often something may happen in a minute.
        monotonic: A clock in seconds.
    """

    def __init__(self, most: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Have seen nothing."""
        self.most, self._monotonic = most, monotonic
        self._seen: dict[str, deque[float]] = {}

    def is_full(self, name: str) -> bool:
        """Whether it has happened as often as it may."""
        times = self._seen.get(name)
        if times is None:
            return self.most <= 0
        self._forget(times)
        return len(times) >= self.most

    def count(self, name: str) -> None:
        """Note that it happens now."""
        if name not in self._seen:
            self._tidy()
            self._seen[name] = deque(maxlen=max(self.most, 1))
        self._seen[name].append(self._monotonic())

    def wait(self, name: str) -> float:
        """Seconds until one that counts now does so no more."""
        times = self._seen.get(name)
        return times[0] + MINUTE - self._monotonic() if times else 0.0

    def __len__(self) -> int:
        """How many names are remembered."""
        return len(self._seen)

    def _forget(self, times: deque[float]) -> None:
        over = self._monotonic() - MINUTE
        while times and times[0] <= over:
            times.popleft()

    def _tidy(self) -> None:
        if len(self._seen) < _CROWD:
            return
        over = self._monotonic() - MINUTE
        self._seen = {name: times for name, times in self._seen.items() if times[-1] > over}
