"""How long and how often to retry: seconds, never minutes.

A run occupies one of few workers; if a fault lasts longer, the operator requeues.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from apply.errors import ApplyError, StaleReadError
from devctl.api.applied import Reason

_SHORTEST, _LONGEST = 0.1, 1.0


@dataclass
class Retry:
    """The time for retries, shared by all requests of one run."""

    seconds: float = 4.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    _deadline: float | None = field(default=None, init=False)

    def pause(self, attempt: int, at_least: float = 0.0) -> bool:
        """Wait before the next attempt; False immediately if that would take too long.

        Args:
            attempt: How many attempts have failed before this one.
            at_least: Seconds that the server asks for.
        """
        now = self.clock()
        if self._deadline is None:
            # Counted from the first failure: a slow machine must not use up the time for faults.
            self._deadline = now + self.seconds
        backoff = min(_LONGEST, _SHORTEST * 2**attempt) * random.uniform(0.5, 1)  # noqa: S311
        # Jitter is added to what the server asks for, or all clients would return at once.
        delay = at_least + backoff
        if now + delay > self._deadline:
            return False
        self.sleep(delay)
        return True

    def while_stale(self, action: Callable[[], None]) -> None:
        """Repeat an action as long as the objects that it read have changed meanwhile.

        Raises:
            ApplyError: That takes too long, or the action raises it.
        """
        attempt = 0
        while True:
            try:
                action()
            except StaleReadError as error:
                if not self.pause(attempt):
                    raise ApplyError(Reason.UNAVAILABLE, str(error)) from error
                attempt += 1
            else:
                return
