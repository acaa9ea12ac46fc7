"""Starts a process again whenever it has ended, as the kubelet does, and counts the starts."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING

from support.plane.process import Process

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE = 10.0
"""Seconds until an end is noticed, many times what it takes."""


@dataclass
class Supervision:
    """A process that is started again, and the ends that are known beforehand.

    Attributes:
        process: The process.
        kills: How often the test has killed it.
        ends: The exit statuses of its runs so far.
    """

    process: Process
    kills: int = 0
    ends: list[int] = field(default_factory=list)
    _before: int = field(init=False)

    def __post_init__(self) -> None:
        """Leave out what happened earlier."""
        self._before = self.process.expected_ends

    def kill(self) -> None:
        """Kill it, which does not count as a crash."""
        self.kills += 1
        self.process.kill()

    def check(self) -> None:
        """Check that it was started again once for each end that was caused or expected.

        Raises:
            AssertionError: It has ended by itself, or did not end; with the end of its log.
        """
        deadline = time.monotonic() + _PATIENCE
        while len(self.ends) < self._known and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(self.ends) == self._known, (
            f"{self.process.name}: started again {len(self.ends)} times, not {self._known} times; "
            f"exit statuses {self.ends}\n{self.process.tail()}"
        )

    @property
    def _known(self) -> int:
        return self.kills + self.process.expected_ends - self._before


@contextmanager
def supervised(process: Process) -> Iterator[Supervision]:
    """Start a process again whenever it has ended, until the end; then check the number of starts.

    Without the check, an observer that crashes again and again would pass every test.
    """
    over, found = Event(), Supervision(process)

    def watch() -> None:
        while not over.wait(0.05):
            if process.is_running:
                continue
            if process.status is not None:
                found.ends.append(process.status)
            # Not that of a subclass, which waits until it is ready.
            Process.start(process)

    thread = Thread(target=watch)
    thread.start()
    try:
        yield found
        found.check()
    finally:
        over.set()
        thread.join()
