"""When a role is run again that could not do its work, though nobody tells that by now it could.

What stands in its way has none of our labels, or is of a kind that is not watched. And the attempts
that ansible-operator makes by itself are further and further apart, up to a quarter of an hour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from devctl.api.applied import Reason
from devctl_observer.judging.conditions import failure
from devctl_observer.judging.model import Item
from devctl_observer.watching.store import Key

FIRST, LONGEST = 5.0, 60.0
"""Seconds until the first attempt, and between attempts once they are as rare as they get."""

_IN_THE_WAY = {Reason.CONFLICT, Reason.TERMINATING}


def blocked(item: Item) -> str:
    """What a role has said of what stands in its way; empty where nothing does."""
    reason = failure(item).get("reason", "")
    if item.metadata.deletion_timestamp or reason not in _IN_THE_WAY:
        return ""
    return f"{reason} of generation {item.metadata.generation}"


def attempts(waited: float) -> tuple[int, float]:
    """How many attempts are due after so many seconds of waiting, and how soon the next one is.

    There is no last one: a name may be taken for weeks, and who frees it knows of nobody to tell.
    Each costs a written annotation and a run, so the pauses double until they are a minute.

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
    """What was found of objects, one thing of each, and when it was found first."""

    steady: Callable[[], float]
    """Seconds of a clock that nobody sets."""
    _found: dict[Key, tuple[str, float]] = field(default_factory=dict)

    def seconds(self, key: Key, what: str) -> float:
        """For how long this, and nothing else, has been true; an empty text stands for nothing."""
        now = self.steady()
        before, since = self._found.get(key, ("", now))
        if before != what:
            since = now
            self._found[key] = what, since
        if not what:
            self.forget(key)
        return now - since

    def forget(self, key: Key) -> None:
        """Nothing is true of an object that is gone."""
        self._found.pop(key, None)
