"""Whose turn it is: what is new first, then again after a while. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from devctl_cache_agent.plan import Item

REFRESH = 300.0
"""Seconds until an item that is ready is looked at again: branches move, images are removed."""
_FIRST, _LONGEST = 10.0, 600.0
"""Seconds until the first retry, and the longest ones."""


class Turns:
    """Remembers when each item is due, and how often in a row it has failed."""

    def __init__(self) -> None:
        """All are due."""
        self._due: dict[Item, float] = {}
        self._failures: dict[Item, int] = {}

    def keep(self, items: Collection[Item]) -> None:
        """Forget all others: they are due at once if they come back."""
        for known in (self._due, self._failures):
            for item in known.keys() - set(items):
                del known[item]

    def next(self, items: Sequence[Item], now: float) -> Item | None:
        """The item whose turn it is: the one that has waited longest, new ones before all."""
        due = [item for item in items if self._due.get(item, now) <= now]
        return min(due, key=lambda item: self._due.get(item, -1.0), default=None)

    def pause(self, items: Sequence[Item], now: float) -> float:
        """Seconds until it is anybody's turn."""
        return max(0.0, min((self._due.get(item, now) for item in items), default=now + 60) - now)

    def done(self, item: Item, now: float, jitter: float, *, failed: bool) -> None:
        """An item had its turn.

        Args:
            item: Which one.
            now: The time.
            jitter: A random number from 0 to 1, so that all nodes do not ask at once.
            failed: Whether it is to be tried again sooner.
        """
        if failed:
            failures = self._failures.get(item, 0)
            wait = min(_LONGEST, _FIRST * 2**failures)
            self._failures[item] = min(failures + 1, 10)
        else:
            self._failures.pop(item, None)
            wait = REFRESH
        self._due[item] = now + wait * (0.75 + 0.5 * jitter)
