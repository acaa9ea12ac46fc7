"""What this process has seen of a pod, or of a server that was stopped for idleness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from devctl.api.usage import LineKey
from devctl_observer.kinds.usage.ledger import Seen
from devctl_observer.kinds.usage.timeline import Timeline

Span = tuple[float, float | None]
"""From when to when; without an end, it goes on."""


@dataclass
class Track:
    """What is known of it; moments are monotonic seconds unless they say otherwise."""

    line: LineKey
    start_time: int
    """When it started by the clock of its node, in seconds since 1970."""
    gpus: int = 0
    pods: int = 1
    created: int = 0
    """By the API server's clock, in seconds since 1970."""
    started: float | None = None
    """When it was seen to start; None if it ran when it was first seen."""
    changes: list[tuple[float, LineKey]] = field(default_factory=list)
    ended: float | None = None
    """When it was seen to have ended."""
    finished: int | None = None
    """When it ended by the clock of its node, in seconds since 1970."""
    missed: bool = False
    """Whether it had ended when it was first seen."""
    there: bool = True
    stopped: bool = False
    node: str = ""
    """Of a GPU workload's pod: its price depends on it."""
    done: bool = False
    """Whether it is known to be counted to its end: books remember that for a time only."""

    @property
    def last(self) -> LineKey:
        """Its line now."""
        return self.changes[-1][1] if self.changes else self.line

    def turn(self, line: LineKey, now: float) -> bool:
        """Note its line from now on; returns whether that is another one."""
        if self.last == line:
            return False
        self.changes.append((now, line))
        return True

    def end(self, now: float, finished: int | None = None, *, missed: bool = False) -> bool:
        """Note its end; returns whether it was not known."""
        if self.ended is not None:
            return False
        self.ended, self.finished, self.missed = now, finished, missed
        return True

    def seen(self, timeline: Timeline, idle: Sequence[Span]) -> Seen:
        """The same for the ledger; `idle` are the times in which its server was idle."""
        if self.started is None:
            # No node can say that it started before it was created, or in the future.
            start = max(self.created, min(self.start_time, timeline.now()))
        else:
            start = timeline.at(self.started)
        return Seen(
            line=self.line,
            start=start,
            gpus=self.gpus,
            pods=self.pods,
            changes=[(timeline.at(since), line) for since, line in self.changes],
            end=None if self.ended is None else timeline.at(self.ended),
            finished=self.finished,
            missed=self.missed,
            idle=[(timeline.at(a), None if b is None else timeline.at(b)) for a, b in idle],
            created=self.created,
            stopped=self.stopped,
            done=self.done,
        )
