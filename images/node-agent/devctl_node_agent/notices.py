"""Notices for the people at a pod's terminals: each text is written once to each terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.api.node_activity import MAX_NOTICE
from devctl_node_agent.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from devctl_node_agent.sample import Place

    Show = Callable[[Place, Collection[int], bytes], set[int]]

_MAX_TERMINALS = 64
"""Terminals of a pod that are written to after one report."""


class Notices:
    """Remembers which terminals have which notice.

    Args:
        show: Writes a line to terminals of a pod; returns those that took it.
    """

    def __init__(self, show: Show) -> None:
        """Have written nothing yet."""
        self._show = show
        self._shown: dict[str, tuple[str, set[int]]] = {}

    def give(self, wanted: Mapping[str, str], places: Mapping[str, Place]) -> None:
        """Write notices to the terminals that do not have them yet.

        Args:
            wanted: The notice for each pod, by UID.
            places: Where the terminals of each pod are, by UID.
        """
        for uid in self._shown.keys() - wanted.keys():
            del self._shown[uid]
        for uid in wanted.keys() & places.keys():
            text, had = self._shown.get(uid, ("", set()))
            had = had & places[uid].terminals if text == wanted[uid] else set()
            waiting = sorted(places[uid].terminals - had)[:_MAX_TERMINALS]
            if waiting:
                had |= self._show(places[uid], waiting, line_of(wanted[uid]))
            self._shown[uid] = wanted[uid], had


def line_of(text: str) -> bytes:
    r"""A notice as a terminal shows it, also one whose program writes without line discipline.

    >>> line_of("stopped soon\x1b[2J")
    b'\r\nstopped soon?[2J\r\n'
    """
    return f"\r\n{clean(text, MAX_NOTICE)}\r\n".encode()
