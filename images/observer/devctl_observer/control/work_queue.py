"""Keys to work on: each at most once at a time, soon, later, or again after a failure."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from devctl_observer.watching.store import Key

log = logging.getLogger(__name__)

_GATHER = 0.03
"""Seconds that a key waits for more of the same burst, for example a pod's first events."""
_FIRST_RETRY = 0.5
_LAST_RETRY = 20.0
"""How late what was refused for long is done once it can be: times to live promise 30 s."""
_LONGEST_SLEEP = 3600.0
"""A timer counts the machine's running time; an hour later the deadline is computed anew."""


@dataclass
class WorkQueue:
    """Hands keys to a handler."""

    handle: Callable[[Key], Awaitable[float | None]]
    """Works on a key; returns after how many seconds to look again, None for never."""
    _ready: asyncio.Queue[Key] = field(default_factory=asyncio.Queue)
    _queued: set[Key] = field(default_factory=set)
    _running: set[Key] = field(default_factory=set)
    _again: set[Key] = field(default_factory=set)
    _timers: dict[Key, asyncio.TimerHandle] = field(default_factory=dict)
    _failures: dict[Key, int] = field(default_factory=dict)

    @property
    def waiting(self) -> int:
        """How many keys wait for their turn; those that wait for a time are none of them."""
        return len(self._queued)

    def add(self, key: Key) -> None:
        """Work on a key soon."""
        if key in self._running:
            self._again.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            asyncio.get_running_loop().call_later(_GATHER, self._ready.put_nowait, key)

    def add_later(self, key: Key, seconds: float) -> None:
        """Work on a key after some time, which replaces any earlier wish of that kind."""
        self.forget_timer(key)
        loop = asyncio.get_running_loop()
        self._timers[key] = loop.call_later(min(seconds, _LONGEST_SLEEP), self.add, key)

    def forget_timer(self, key: Key) -> None:
        """No longer work on a key because of the time."""
        if timer := self._timers.pop(key, None):
            timer.cancel()

    async def run(self) -> None:
        """Work until cancelled; several may run at once."""
        while True:
            key = await self._ready.get()
            self._queued.discard(key)
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
        except Exception as error:  # noqa: BLE001 - one object's trouble must not stop the others
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            pause = min(_LAST_RETRY, _FIRST_RETRY * 2.0 ** min(failures - 1, 10))
            log.warning("%s/%s: %r; again in %.1f s", *key, error, pause)
            self.add_later(key, pause)
            return
        self._failures.pop(key, None)
        if seconds is None:
            self.forget_timer(key)
        else:
            self.add_later(key, seconds)
