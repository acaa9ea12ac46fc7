"""A work queue of keys, each handled by one worker at a time; with delays and retries."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from devctl_observer.watching.store import Key

log = logging.getLogger(__name__)

_GATHER = 0.03
"""Seconds that a key waits, to handle a burst of changes (a pod's first, say) only once."""
_FIRST_RETRY = 0.5
_LAST_RETRY = 20.0
"""The longest retry delay, in seconds: expired objects must be deleted within 30 s."""
_LONGEST_SLEEP = 3600.0
"""Timers stop while the machine sleeps, so deadlines are recomputed at least hourly."""


@dataclass
class WorkQueue:
    """Hands keys to a handler."""

    handle: Callable[[Key], Awaitable[float | None]]
    """Handles a key; returns the seconds until it is due again, None for never."""
    _ready: asyncio.Queue[Key] = field(default_factory=asyncio.Queue)
    _queued: dict[Key, float] = field(default_factory=dict)
    """Since when each key waits, in monotonic seconds; the first one has waited longest."""
    _running: set[Key] = field(default_factory=set)
    _again: set[Key] = field(default_factory=set)
    _timers: dict[Key, asyncio.TimerHandle] = field(default_factory=dict)
    _failures: dict[Key, int] = field(default_factory=dict)

    @property
    def waiting(self) -> int:
        """The number of keys in the queue, without those that wait for a timer."""
        return len(self._queued)

    @property
    def age(self) -> float:
        """For how many seconds the key that waits longest has waited; 0 if none waits."""
        return time.monotonic() - next(iter(self._queued.values()), time.monotonic())

    def add(self, key: Key) -> None:
        """Add a key to be handled soon."""
        if key in self._running:
            self._again.add(key)
        elif key not in self._queued:
            self._queued[key] = time.monotonic()
            asyncio.get_running_loop().call_later(_GATHER, self._ready.put_nowait, key)

    def add_later(self, key: Key, seconds: float) -> None:
        """Add a key after a delay, which replaces the key's earlier timer."""
        self.forget_timer(key)
        loop = asyncio.get_running_loop()
        self._timers[key] = loop.call_later(min(seconds, _LONGEST_SLEEP), self.add, key)

    def forget_timer(self, key: Key) -> None:
        """Cancel the timer of a key."""
        if timer := self._timers.pop(key, None):
            timer.cancel()

    async def run(self) -> None:
        """Handle keys until cancelled; several workers may run at once."""
        while True:
            key = await self._ready.get()
            self._queued.pop(key, None)
            self._running.add(key)
            try:
                await self._work(key)
            finally:
                self._running.discard(key)
            if key in self._again:
                self._again.discard(key)
                self.add(key)

    async def _work(self, key: Key) -> None:
        try:
            seconds = await self.handle(key)
        except Exception as error:  # noqa: BLE001 - one object's failure must not stop the others
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            pause = min(_LAST_RETRY, _FIRST_RETRY * 2.0 ** min(failures - 1, 10))
            log.warning("%s/%s: %r; retrying in %.1f s", *key, error, pause)
            self.add_later(key, pause)
            return
        self._failures.pop(key, None)
        if seconds is None:
            self.forget_timer(key)
        else:
            self.add_later(key, seconds)
