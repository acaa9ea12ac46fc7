"""Keeps images, by asking the node's runtime. What goes is the kubelet's to decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl_cache_agent.problems import CacheError, NoRoomError
from devctl_cache_agent.status import READY, Entry
from devctl_cache_agent.text import size

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl_cache_agent.durations import Durations
    from devctl_cache_agent.plan import Item
    from devctl_cache_agent.runtime import Runtime

    Tell = Callable[[Entry], None]


class Images:
    """Pulls images.

    Args:
        runtime: The node's.
        spare: How many bytes more than it must the node's disk has free; negative if it is full.
        durations: How long pulls took.
    """

    def __init__(self, runtime: Runtime, spare: Callable[[], int], durations: Durations) -> None:
        """Have pulled nothing yet."""
        self._runtime, self._spare, self._durations = runtime, spare, durations

    def is_present(self, item: Item) -> bool:
        """Whether the node has it."""
        return self._runtime.image(item.source) is not None

    def keep(self, item: Item, tell: Tell) -> Entry:
        """Pull an image, unless the node has it.

        A tag is not looked at again: containers would use what the node has.

        Raises:
            CacheError: It could not be pulled.
        """
        key = f"{item.sort} {item.source}"
        found = self._runtime.image(item.source)
        if found is None:
            self._look(tell)
            with self._durations.measured(key):
                self._runtime.pull(item.source, lambda: self._look(tell))
            found = self._runtime.image(item.source)
            if found is None:
                raise CacheError("the runtime has pulled it, and does not have it")
        seconds, length = self._durations.of(key), found.length
        return Entry(READY, True, "the node has it", length=length, seconds=seconds)  # noqa: FBT003

    def _look(self, tell: Tell) -> None:
        spare = self._spare()
        if spare < 0:
            raise NoRoomError(
                f"the node's disk is full: {size(-spare)} less are free than are to stay free"
            )
        tell(Entry(message="pulling; the runtime does not say how far it is"))
