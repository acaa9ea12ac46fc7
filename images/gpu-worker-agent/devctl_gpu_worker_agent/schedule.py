"""How long to wait. Pure: it is told what has happened."""

from __future__ import annotations

_FIRST, _LONGEST = 1.0, 60.0
_DOUBLINGS = 6
_SPREAD = 0.1


class Backoff:
    """Waits longer after each failure, and never the same time as other agents."""

    def __init__(self) -> None:
        """Nothing has failed yet."""
        self._failures = 0

    def failed(self, jitter: float, asked: float = 0) -> float:
        """Seconds until the next try.

        Args:
            jitter: A random number from 0 to 1.
            asked: What the other side asks for, if it does.
        """
        wait: float = min(_LONGEST, _FIRST * 2**self._failures)
        self._failures = min(self._failures + 1, _DOUBLINGS)
        return max(wait * (0.5 + 0.5 * jitter), min(asked, _LONGEST))

    def succeeded(self) -> None:
        """Begin anew."""
        self._failures = 0


def pause(every: float, jitter: float) -> float:
    """Seconds until the next heartbeat: a little less than asked for, and not in step with others.

    >>> pause(30, 0), pause(30, 1)
    (27.0, 30.0)
    """
    return every * (1 - _SPREAD + _SPREAD * jitter)
