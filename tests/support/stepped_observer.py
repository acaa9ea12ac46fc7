"""The observer as a process of its own, whose clocks a test sets.

usage: stepped_observer.py FILE, which says by how many seconds each clock is ahead: `own`, which
the process asks for the time of day; `server`, by which the API server's answers are dated; and
`steady`, by which the process measures and its queues wait. That one only goes forward. The lease
and requests take real time: others hold the one, and answer the others.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import logging
import runpy
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from devctl_observer.control.work_queue import WorkQueue

_right_time, _right_steady, _parse = time.time, time.monotonic, email.utils.parsedate_to_datetime
_log = logging.getLogger("stepped_observer")


@dataclass(frozen=True)
class Clocks:
    """Clocks that are ahead.

    Attributes:
        ahead: By how many seconds each is; one that is not named is right.
    """

    ahead: Callable[[], Mapping[str, float]]

    def by(self, clock: str) -> float:
        """By how many seconds a clock is ahead."""
        return float(self.ahead().get(clock, 0))

    def stopped(self) -> Clocks:
        """Clocks that are ahead by as much as these are now, whatever is said later."""
        ahead = dict(self.ahead())
        return Clocks(lambda: ahead)

    def time(self) -> float:
        """The time of day, in seconds since 1970."""
        return _right_time() + self.by("own")

    def now(self) -> datetime:
        """The time of day."""
        return datetime.fromtimestamp(self.time(), UTC)

    def steady(self) -> float:
        """Monotonic seconds."""
        return _right_steady() + self.by("steady")

    def date(self, data: str) -> datetime:
        """The date of an answer of the API server."""
        return _parse(data) + timedelta(seconds=self.by("server"))


@dataclass
class Passage:
    """What of the time that passes at once is yet to be noticed.

    Attributes:
        clocks: By which it passes.
        queues: Whose timers go off by them.
    """

    clocks: Clocks
    queues: Iterable[WorkQueue]
    _noticed: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin with what time it is."""
        self._noticed = self.clocks.by("steady")

    def notice(self) -> None:
        """Have the timers of the time that has passed go off."""
        now = self.clocks.by("steady")
        passed, self._noticed = now - self._noticed, now
        if passed:
            for queue in self.queues:
                hasten(queue, passed)
            _log.info("%.1f s have passed at once", passed)


def hasten(queue: WorkQueue, seconds: float) -> None:
    """Have the timers of a queue go off so many seconds earlier."""
    now = asyncio.get_running_loop().time()
    for key, timer in list(queue._timers.items()):  # noqa: SLF001 - only tests need it
        if timer.when() > now:
            queue.add_later(key, max(0.0, timer.when() - now - seconds))


def step(clocks: Clocks) -> None:
    """Have the observer go by clocks, none of whose modules has been imported yet."""
    time.time = clocks.time
    email.utils.parsedate_to_datetime = clocks.date
    from devctl_observer.judging import clocks as judging  # noqa: PLC0415 - see above

    judging.utc_now = clocks.now
    from devctl_observer.control import process, work_queue  # noqa: PLC0415 - see above
    from devctl_observer.watching import clock_watch  # noqa: PLC0415 - see above

    queues: list[WorkQueue] = []

    @dataclass
    class SteppedQueue(work_queue.WorkQueue):
        def __post_init__(self) -> None:
            queues.append(self)

    class SteppedWatch(clock_watch.ClockWatch):
        def __post_init__(self) -> None:
            self.wall, self.steady = clocks.time, clocks.steady
            self._passage = Passage(clocks, queues)
            super().__post_init__()

        def look(self) -> None:
            self._passage.notice()
            # Both by the same moment: a test may set them in between.
            here = clocks.stopped()
            self.wall, self.steady = here.time, here.steady
            super().look()

    process.Clock = partial(process.Clock, now=clocks.now, steady=clocks.steady)  # type: ignore[assignment, misc]
    work_queue.WorkQueue = SteppedQueue  # type: ignore[misc]
    clock_watch.ClockWatch = SteppedWatch  # type: ignore[misc]
    # A test that sets a clock waits until that has been noticed.
    clock_watch.PAUSE = 0.2


def main() -> None:
    """Be the observer."""
    file = Path(sys.argv[1])
    step(Clocks(lambda: json.loads(file.read_text())))
    runpy.run_module("devctl_observer", run_name="__main__")


if __name__ == "__main__":
    main()
