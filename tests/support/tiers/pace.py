"""How slow the machine is meanwhile: budgets are minutes of a quiet one."""

from __future__ import annotations

import statistics
import threading
import time
from pathlib import Path
from typing import Self

TURNS = 100_000
"""Of the loop whose time is taken: about 3 ms, so that taking it costs nobody anything."""

QUIET = 0.0032
"""Seconds of processor that the loop takes on a quiet machine while tests keep it busy."""

EVERY = 5.0
"""Seconds from one look to the next."""

_STAT = Path("/proc/stat")


class Slowdown:
    """Times the same loop again and again, and how much of the processors the host took away.

    The loop's is the time of its thread alone: that others have the processor does not count.
    """

    def __init__(self) -> None:
        """Look at nothing yet."""
        self._looks: list[tuple[float, float, Processors]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        """Begin to look."""
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Look no longer."""
        self._ended.set()
        self._thread.join()

    def since(self, moment: float) -> float:
        """How many times as long as on a quiet machine everything took since then.

        Args:
            moment: Of the monotonic clock.
        """
        self._look()
        looks = [look for look in self._looks if look[0] >= moment]
        loops = [seconds for _, seconds, _ in looks]
        return slowdown(loops, looks[0][2], looks[-1][2])

    def _watch(self) -> None:
        while not self._ended.wait(EVERY):
            self._look()

    def _look(self) -> None:
        self._looks.append((time.monotonic(), loop(), Processors.read()))


class Processors:
    """What the processors did since the machine started, in ticks."""

    def __init__(self, line: str) -> None:
        """Read the first line of /proc/stat: user nice system idle iowait irq softirq steal."""
        ticks = [int(word) for word in line.split()[1:9]]
        self.wanted = sum(ticks) - ticks[3] - ticks[4]
        self.stolen = ticks[7]

    @classmethod
    def read(cls) -> Self:
        """By now."""
        with _STAT.open() as file:
            return cls(file.readline())


def loop() -> float:
    """The seconds of processor that a fixed piece of work takes now."""
    before = time.thread_time()
    for _ in range(TURNS):
        pass
    return time.thread_time() - before


def slowdown(loops: list[float], first: Processors, last: Processors) -> float:
    """The factor from what was seen: the middle loop's, and that of the time the host took away."""
    wanted = last.wanted - first.wanted
    left = 1 - (last.stolen - first.stolen) / wanted if wanted else 1.0
    return statistics.median(loops) / QUIET / left
