from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import pytest
from devctl_inference import files
from devctl_inference.failure import Failure, Reason
from devctl_inference.files import File
from devctl_inference.wait import POLL_SECONDS, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

NOW = 1_000_000.0


class Time:
    """A clock that advances only in sleeps; something can happen at each poll."""

    def __init__(self, happens: Mapping[float, Callable[[], object]] | None = None) -> None:
        self.passed = 0.0
        self.happens = dict(happens or {})

    def monotonic(self) -> float:
        return self.passed

    def time(self) -> float:
        return NOW + self.passed

    def sleep(self, seconds: float, /) -> None:
        self.passed += seconds
        self.happens.pop(self.passed, lambda: None)()


@pytest.fixture
def path(volume: Path) -> Path:
    return volume / "input.jpg"


def put(path: Path, size: int, age: float = 3600) -> None:
    path.write_bytes(bytes(size))
    os.utime(path, (NOW - age, NOW - age))


def wait(path: Path, seconds: float, clock: Time) -> list[str]:
    said: list[str] = []
    wait_for([File(str(path), path.parent, files.INPUT)], seconds, said.append, clock)
    return said


@pytest.mark.parametrize("seconds", [0, 120])
def test_a_file_that_was_there_before_costs_one_look(path: Path, seconds: float) -> None:
    put(path, 5)
    clock = Time()
    assert wait(path, seconds, clock) == []
    assert clock.passed == POLL_SECONDS


def test_a_file_is_waited_for_and_that_is_said_once(path: Path) -> None:
    clock = Time({10: lambda: put(path, 5)})
    assert wait(path, 120, clock) == [f"waiting up to 120 s for {path}"]
    assert clock.passed == 10.5


def test_a_copy_that_goes_on_is_waited_for(path: Path) -> None:
    growth = {1 + n / 2: partial(put, path, n) for n in range(1, 20)}
    clock = Time(growth)
    wait(path, 5, clock)
    assert clock.passed == 11
    assert path.stat().st_size == 19


def test_a_download_that_stalls_shortly_is_not_taken_for_whole(path: Path) -> None:
    clock = Time({1: lambda: put(path, 5, age=-1), 2.5: lambda: put(path, 9, age=-2.5)})
    wait(path, 120, clock)
    assert path.stat().st_size == 9
    assert clock.passed == 4.5


def test_a_time_in_the_future_does_not_hold_it_up(path: Path) -> None:
    put(path, 5, age=-86400)
    clock = Time()
    wait(path, 120, clock)
    assert clock.passed == POLL_SECONDS


@pytest.mark.parametrize(("seconds", "after"), [(0, ""), (7, " after 7 s")])
def test_a_file_that_does_not_come_is_missing(path: Path, seconds: float, after: str) -> None:
    clock = Time()
    with pytest.raises(Failure, match=f"^{path} does not exist{after}$") as caught:
        wait(path, seconds, clock)
    assert caught.value.reason is Reason.INPUT_MISSING
    assert clock.passed == max(seconds, POLL_SECONDS)


def test_a_file_that_stays_empty_is_missing(path: Path) -> None:
    put(path, 0)
    with pytest.raises(Failure, match=r"is empty after 2 s$") as caught:
        wait(path, 2, Time())
    assert caught.value.reason is Reason.INPUT_MISSING


def test_a_file_that_grows_for_ever_is_given_up(path: Path) -> None:
    clock = Time({n / 2: partial(put, path, n) for n in range(1, 1000)})
    with pytest.raises(Failure, match=r"is still being written$"):
        wait(path, 5, clock)
    assert clock.passed == 65


def test_a_folder_in_its_place_is_not_waited_for(path: Path) -> None:
    path.mkdir()
    clock = Time()
    with pytest.raises(Failure, match="is not a regular file") as caught:
        wait(path, 120, clock)
    assert caught.value.reason is Reason.INPUT_INVALID
    assert clock.passed == 0


def test_the_input_is_named_before_the_weights(volume: Path) -> None:
    wanted = [
        File(f"{volume}/input.jpg", volume, files.INPUT),
        File(f"{volume}/w.safetensors", volume, files.WEIGHTS),
    ]
    said: list[str] = []
    with pytest.raises(Failure) as caught:
        wait_for(wanted, 1, said.append, Time())
    assert caught.value.reason is Reason.INPUT_MISSING
    assert said == [f"waiting up to 1 s for {volume}/input.jpg and {volume}/w.safetensors"]
    put(volume / "input.jpg", 1)
    with pytest.raises(Failure) as caught:
        wait_for(wanted, 1, said.append, Time())
    assert caught.value.reason is Reason.WEIGHTS_MISSING
