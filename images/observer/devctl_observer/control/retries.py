"""When a blocked role is retried, since nothing notifies us that it could succeed.

The obstacle may lack our labels, or be of a kind that is not watched. And ansible-operator's own
retries back off to a quarter of an hour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from devctl.api.applied import Reason
from devctl_observer.judging.conditions import failure
from devctl_observer.judging.model import Item
from devctl_observer.watching.store import Key

FIRST, LONGEST = 5.0, 60.0
"""Seconds until the first attempt, and the longest pause between attempts."""

_IN_THE_WAY = {Reason.CONFLICT, Reason.TERMINATING}


def blocked(item: Item) -> str:
    """What blocks an object's role, as the role reported it; empty if nothing does."""
    reason = failure(item).get("reason", "")
    if item.metadata.deletion_timestamp or reason not in _IN_THE_WAY:
        return ""
    return f"{reason} of generation {item.metadata.generation}"


def attempts(waited: float) -> tuple[int, float]:
    """The number of attempts due after `waited` seconds, and the seconds until the next one.

    They never end: a name may be taken for weeks, and nothing notifies us when it is freed. Each
    costs a write and a run, so the pauses double up to a minute.

    >>> [attempts(seconds) for seconds in (0, 5, 14, 75, 140)]
    [(0, 5.0), (1, 10.0), (1, 1.0), (4, 60.0), (5, 55.0)]
    """
    number, pause = 0, FIRST
    while pause < LONGEST and waited >= pause:
        number, waited, pause = number + 1, waited - pause, min(2 * pause, LONGEST)
    if pause < LONGEST:
        return number, pause - waited
    more, waited = divmod(waited, LONGEST)
    return number + int(more), LONGEST - waited


@dataclass
class Since:
    """One finding per object, and since when it has been true."""

    steady: Callable[[], float]
    """Monotonic seconds."""
    _found: dict[Key, tuple[str, float]] = field(default_factory=dict)

    def seconds(self, key: Key, what: str) -> float:
        """For how long this finding has been true without a change; an empty one is dropped."""
        now = self.steady()
        before, since = self._found.get(key, ("", now))
        if before != what:
            since = now
            self._found[key] = what, since
        if not what:
            self.forget(key)
        return now - since

    def forget(self, key: Key) -> None:
        """Drop the finding of a deleted object."""
        self._found.pop(key, None)
