"""Since when something is true of an object."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl_observer.watching.store import Key


class Since:
    """What was found of objects, one thing of each, and when it was found first.

    Args:
        steady: Seconds of a clock that nobody sets.
    """

    def __init__(self, steady: Callable[[], float]) -> None:
        """Nothing was found."""
        self._steady = steady
        self._found: dict[Key, tuple[str, float]] = {}

    def seconds(self, key: Key, what: str) -> float:
        """For how long this, and nothing else, has been true; an empty text stands for nothing."""
        now = self._steady()
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
