"""The clocks of the observer that a test sets: which of them pass, and what goes off by them."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import time
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from devctl_observer.control.work_queue import WorkQueue
from devctl_observer.watching.store import Key
from support.stepped_observer import Clocks, Passage, hasten

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

DATE = "Sat, 28 Nov 2026 12:00:00 GMT"
HOUR = 3600.0
SOON, LATE, NEVER = Key("", "soon"), Key("", "late"), Key("", "never")
# What the process of a test's observer goes by once it has been stepped.
GOES_BY = """
import json, sys, time
from support.stepped_observer import Clocks, step
right = time.monotonic
step(Clocks(lambda: {"own": 1000, "steady": 5000, "server": 0}))
import asyncio
from devctl_observer import app, observer
from devctl_observer.control.election import Election
from devctl_observer.control.family import WorkQueue

async def loop() -> float:
    return asyncio.get_running_loop().time() - right()

clock = app.Clock()
election = Election(None, "", "", "")
watch, set_by = observer.ClockWatch(lambda: None), []
watch.stepped = lambda: set_by.append(1)
watch.look()
print(json.dumps({
    "steady": clock.steady() - right(),
    "own": clock.now().timestamp() - time.time(),
    "lease": election._clock() - right(),
    "requests": asyncio.run(loop()),
    "set": len(set_by),
    "queue": WorkQueue.__name__,
}))
"""


def clocks(**ahead: float) -> Clocks:
    return Clocks(lambda: ahead)


def test_each_clock_is_ahead_by_its_own_number() -> None:
    one = clocks(own=60, server=-HOUR, steady=5)
    assert 59 < one.time() - time.time() < HOUR
    assert 4 < one.steady() - time.monotonic() < HOUR
    assert one.date(DATE) == parsedate_to_datetime(DATE) - timedelta(hours=1)


def test_a_file_of_an_earlier_release_says_nothing_of_the_steady_clock() -> None:
    assert clocks(own=60, server=60).by("steady") == 0


def test_stopped_clocks_are_not_set_any_more() -> None:
    ahead = {"own": 1.0}
    here = Clocks(lambda: ahead).stopped()
    ahead["own"] = 2.0
    assert here.by("own") == 1


class Queue:
    """A queue at work.

    Attributes:
        handled: The keys that it has handled.
    """

    def __init__(self) -> None:
        self.handled = list[Key]()
        self.queue = WorkQueue(self._handle)
        self._came = asyncio.Event()
        self._work = asyncio.create_task(self.queue.run())

    async def _handle(self, key: Key) -> float | None:
        self.handled.append(key)
        self._came.set()
        return None

    async def comes(self) -> None:
        """Wait for the next key."""
        await self._came.wait()
        self._came.clear()

    def left(self, key: Key) -> float:
        """In how many seconds a key's timer goes off."""
        return self.queue._timers[key].when() - asyncio.get_running_loop().time()  # noqa: SLF001

    def end(self) -> None:
        self._work.cancel()


def test_what_is_due_by_then_goes_off_at_once_and_nothing_else() -> None:
    async def live() -> tuple[list[Key], float]:
        one = Queue()
        one.queue.add_later(SOON, HOUR / 2)
        one.queue.add_later(LATE, HOUR)
        one.queue.add_later(NEVER, HOUR / 2)
        one.queue.forget_timer(NEVER)
        hasten(one.queue, HOUR / 2)
        await one.comes()
        one.end()
        return one.handled, one.left(LATE)

    handled, left = asyncio.run(live())
    assert handled == [SOON]
    assert 0 < left <= HOUR / 2


def test_a_timer_that_has_gone_off_does_not_go_off_again() -> None:
    async def live() -> list[Key]:
        one = Queue()
        one.queue.add_later(SOON, 0)
        await one.comes()
        one.queue.add_later(LATE, HOUR)
        hasten(one.queue, HOUR)
        await one.comes()
        one.end()
        return one.handled

    assert asyncio.run(live()) == [SOON, LATE]


def test_time_is_noticed_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    ahead = {"steady": 60.0}

    async def live() -> list[float]:
        one, left = Queue(), []
        passage = Passage(Clocks(lambda: ahead), [one.queue])
        one.queue.add_later(LATE, HOUR)
        for steady in (60, 90, 90, 150):
            ahead["steady"] = steady
            passage.notice()
            left.append(one.left(LATE))
        one.end()
        return left

    left = asyncio.run(live())
    assert [round((HOUR - each) / 10) for each in left] == [0, 3, 3, 9]
    assert caplog.messages == ["30.0 s have passed at once", "60.0 s have passed at once"]


def test_the_observer_measures_by_them_and_holds_its_lease_by_real_time(tmp_path: Path) -> None:
    script = tmp_path / "goes_by.py"
    script.write_text(GOES_BY)
    places = (REPOSITORY / "images/observer", REPOSITORY, REPOSITORY / "tests")
    ran = subprocess.run(
        [sys.executable, script],
        env={"PYTHONPATH": ":".join(map(str, places))},
        check=False,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    rounded = {name: round(by / 100) * 100 for name, by in found.items() if name != "queue"}
    assert rounded == {"steady": 5000, "own": 0, "lease": 0, "requests": 0, "set": 0}
    assert found["queue"] == "SteppedQueue"
