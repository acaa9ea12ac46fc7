"""What requests leave to the loop that makes the objects of jobs."""

from __future__ import annotations

import asyncio


class Submitted:
    """The jobs that this process was asked to start or to end, and has not seen to yet.

    Attributes:
        event: Set when there are some.
    """

    def __init__(self) -> None:
        """There are none."""
        self.event = asyncio.Event()
        self._names: set[str] = set()

    def add(self, name: str) -> None:
        """Have a job seen to at once."""
        self._names.add(name)
        self.event.set()

    def take(self) -> list[str]:
        """Those that there are; they are somebody else's from then on."""
        names, self._names = sorted(self._names), set()
        return names
