"""The observer of a plane: it goes on after a loss of its lease, and after nothing else."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from support.plane import kept, parts
from support.plane.kept import KeptObserver
from unit.patience import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ONCE = "[ -e again ] && exec sleep 1000; touch again; echo '{says}'; exit 1"
LOSES = "LeadershipLostError: lease `devctl-observer` could not be renewed"
CRASHES = "OSError: no space left"
SLEEPS = "exec sleep 1000"


@pytest.fixture
def observer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KeptObserver]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kept, "_PAUSE", 0.01)
    monkeypatch.setattr(parts, "is_ready", lambda _: True)
    made = KeptObserver(tmp_path / "kubeconfig", tmp_path)
    yield made
    made.kill()


def ends(observer: KeptObserver, says: str) -> None:
    """Start one that ends by itself the first time."""
    observer.argv = ["sh", "-c", ONCE.format(says=says)]
    observer.start()


def stays_ended(observer: KeptObserver) -> bool:
    """Whether nothing starts it in the time of many looks at it."""
    eventually(lambda: not observer.is_running)
    time.sleep(0.2)
    return not observer.is_running


def test_one_that_loses_its_lease_goes_on(observer: KeptObserver) -> None:
    ends(observer, LOSES)
    eventually(lambda: observer.expected_ends == 1 and observer.is_running)


def test_one_that_crashes_stays_ended(observer: KeptObserver) -> None:
    ends(observer, CRASHES)
    assert stays_ended(observer)


def test_a_crash_after_a_loss_is_not_made_up_for(observer: KeptObserver) -> None:
    observer.log.write_text(f"{LOSES}\n")
    ends(observer, CRASHES)
    assert stays_ended(observer)


@pytest.mark.parametrize("end", [KeptObserver.kill, KeptObserver.stop])
def test_one_that_a_test_ends_stays_ended(
    observer: KeptObserver, end: Callable[[KeptObserver], None]
) -> None:
    observer.argv = ["sh", "-c", SLEEPS]
    observer.start()
    end(observer)
    observer.log.write_text(LOSES)
    assert stays_ended(observer)


def test_one_that_was_frozen_is_still_kept(observer: KeptObserver) -> None:
    ends(observer, LOSES)
    observer.freeze()
    observer.thaw()
    eventually(lambda: observer.expected_ends == 1 and observer.is_running)


def test_one_that_was_ended_can_be_kept_again(observer: KeptObserver) -> None:
    observer.argv = ["sh", "-c", SLEEPS]
    observer.start()
    observer.kill()
    ends(observer, LOSES)
    eventually(lambda: observer.expected_ends == 1 and observer.is_running)
