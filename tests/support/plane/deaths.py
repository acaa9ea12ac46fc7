"""Deaths that a test has planned: a process kills itself at certain points of its work."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

PREPARING = ("asked", "reserved", "recorded", "described")
"""Where a plugin dies that prepares: before Redis is asked, after that, after the record is
written, and after the CDI file is."""
UNPREPARING = ("removed", "forgotten", "released")
"""Where one dies that unprepares: after the CDI file is gone, after the record is written, and
after Redis is told."""
OF_KUBELETS = ("to-prepare", "prepared", "started", "unprepared")
"""Before the plugin is asked, after that, after a container's start, and before its end is told."""
_MOST = 3
"""How often a point is reached at most before the process dies there."""


class Deaths:
    """What is planned for a process, which is started again after each death.

    Args:
        file: The plan, as `plan` writes it.
    """

    def __init__(self, file: Path) -> None:
        """Read which one is next."""
        self._done = _done_of(file)
        point, _, times = next(iter(left(file)), "").partition(" ")
        self._point, self._left = point, int(times or 0)
        self._lock = threading.Lock()

    def reach(self, point: str) -> None:
        """Go on, or die here, as nothing that is killed can prevent."""
        with self._lock:
            if point != self._point:
                return
            self._left -= 1
            if self._left:
                return
            with self._done.open("a") as file:
                file.write(f"{point}\n")
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)


def plan(file: Path, points: Iterable[str], seed: str) -> None:
    """Have a process die once at each point; the seed says in which order and when."""
    chance = random.Random(seed)  # noqa: S311 - it is to be the same again
    drawn = list(points)
    chance.shuffle(drawn)
    file.write_text("".join(f"{point} {chance.randint(1, _MOST)}\n" for point in drawn))


def left(file: Path) -> list[str]:
    """The deaths that are still to come: a point, and the how-manieth time it is reached."""
    return file.read_text().splitlines()[passed(file) :]


def passed(file: Path) -> int:
    """How many of the deaths have come."""
    done = _done_of(file)
    return len(done.read_text().splitlines()) if done.exists() else 0


def _done_of(file: Path) -> Path:
    """Where a process writes that it dies now."""
    return file.with_name(f"{file.name}.done")
