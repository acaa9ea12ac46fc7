"""A process of a test's that is started again: one that crashes by itself is not hidden."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest
from support.plane import deaths, supervision
from support.plane.gpu_node import Mortal
from support.plane.parts import ObserverProcess
from support.plane.process import Process
from support.plane.supervision import Supervision, supervised
from unit.patience import eventually

if TYPE_CHECKING:
    from pathlib import Path

SLEEPS = ["sleep", "1000"]
LOST = """\
  | devctl_observer.election.LeadershipLostError: lease `devctl-observer` could not be renewed
"""


def test_it_is_started_again_whenever_it_is_killed(tmp_path: Path) -> None:
    process = Process(SLEEPS, tmp_path / "log")
    with supervised(process) as found:
        for kills in (1, 2):
            eventually(lambda: process.is_running)
            found.kill()
            found.check()
            assert found.ends == [-signal.SIGKILL] * kills
        eventually(lambda: process.is_running)
    process.kill()


def test_one_that_runs_already_is_left_alone(tmp_path: Path) -> None:
    process = Process(SLEEPS, tmp_path / "log")
    process.start()
    before = process.pid
    with supervised(process) as found:
        time.sleep(0.2)
        assert (process.pid, found.ends) == (before, [])
    process.kill()


def test_one_that_crashes_by_itself_is_counted(tmp_path: Path) -> None:
    crashes = Process(["sh", "-c", "echo no disk; exit 3"], tmp_path / "observer.log")
    told = r"(?s)observer: started again \d+ times, not 0 times; exit statuses \[3, .*no disk"
    with pytest.raises(AssertionError, match=told), supervised(crashes) as found:
        eventually(lambda: len(found.ends) > 1)


def test_a_crash_beside_kills_is_counted(tmp_path: Path) -> None:
    process = Process(SLEEPS, tmp_path / "log")

    def end_twice(found: Supervision) -> None:
        eventually(lambda: process.is_running)
        found.kill()
        eventually(lambda: process.is_running)
        process.signal(signal.SIGTERM)
        eventually(lambda: len(found.ends) > 1)

    told = r"started again 2 times, not 1 times; exit statuses \[-9, -15\]"
    with pytest.raises(AssertionError, match=told), supervised(process) as found:
        end_twice(found)


def test_a_kill_without_an_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "_PATIENCE", 0.1)
    process = Process(SLEEPS, tmp_path / "log")
    told = "started again 0 times, not 1 times"
    with pytest.raises(AssertionError, match=told), supervised(process) as found:
        found.kills += 1


def test_a_failed_test_keeps_its_own_words(tmp_path: Path) -> None:
    crashes = Process(["sh", "-c", "exit 3"], tmp_path / "log")

    def fail(found: Supervision) -> None:
        eventually(lambda: bool(found.ends))
        raise ValueError("of the test's own")

    with pytest.raises(ValueError, match="of the test's own"), supervised(crashes) as found:
        fail(found)


def test_an_observer_may_lose_its_lease(tmp_path: Path) -> None:
    observer = ObserverProcess(tmp_path / "kubeconfig", tmp_path)
    observer.log.write_text(LOST)
    observer.argv = ["sh", "-c", f"echo '{LOST}'; exit 1"]
    with supervised(observer) as found:
        eventually(lambda: len(found.ends) == 1)
        observer.argv = SLEEPS
        eventually(lambda: observer.is_running and found.ends == [1] * len(found.ends))
    assert observer.expected_ends == 1 + len(found.ends)
    observer.kill()


def test_deaths_by_plan_are_no_crashes(tmp_path: Path) -> None:
    plan = tmp_path / "plan"
    deaths.plan(plan, ["asked", "told"], "seed")
    process = Mortal(SLEEPS, tmp_path / "log", plan=plan)
    with supervised(process) as found:
        eventually(lambda: process.is_running)
        plan.with_name("plan.done").write_text("asked\n")
        process.kill()
        found.check()
    assert (found.ends, len(deaths.left(plan))) == ([-signal.SIGKILL], 1)
    process.kill()
