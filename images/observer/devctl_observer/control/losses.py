"""Since when something seems to be lost: other watches tell of it than of the role's word."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl_observer.watching.store import Key

GRACE = 3.0
"""Seconds until what was not seen counts as lost."""


class Losses:
    """What is missing, by object; one of them is made for each kind.

    Args:
        steady: Seconds of a clock that nobody sets.
    """

    def __init__(self, steady: Callable[[], float]) -> None:
        """Nothing is missing."""
        self._steady = steady
        self._since: dict[Key, float] = {}

    def is_unsure(self, key: Key, *, lost: bool) -> bool:
        """Whether something seems to be lost that may only not have been seen yet."""
        if not lost:
            self.forget(key)
            return False
        since = self._since.setdefault(key, self._steady())
        return self._steady() - since < GRACE

    def forget(self, key: Key) -> None:
        """Nothing of this object is missing, or it is gone."""
        self._since.pop(key, None)
