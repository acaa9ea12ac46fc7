"""How long fetches took: measured once, and known to the next agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from devctl_cache_agent.durations import MAX_KNOWN, Durations
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path


class Clock:
    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def fetch(kept: Durations, clock: Clock, key: str, seconds: float) -> None:
    with kept.measured(key):
        clock.now += seconds


def test_the_last_complete_fetch_counts_and_outlives_the_agent(tmp_path: Path) -> None:
    file, clock = tmp_path / "d.json", Clock()
    kept = Durations(file, clock)
    assert kept.of("model a") is None
    fetch(kept, clock, "model a", 12.4)
    fetch(kept, clock, "image b", 0.2)
    fetch(kept, clock, "model a", 7.6)
    assert (kept.of("model a"), kept.of("image b")) == (8, 0)
    again = Durations(file, clock)
    assert (again.of("model a"), again.of("image b")) == (8, 0)


def test_a_fetch_that_fails_changes_nothing(tmp_path: Path) -> None:
    clock = Clock()
    kept = Durations(tmp_path / "d.json", clock)
    fetch(kept, clock, "a", 5)

    def cut_off() -> None:
        with kept.measured("a"):
            clock.now += 99
            raise OSError("cut off")

    with pytest.raises(OSError, match="cut off"):
        cut_off()
    assert kept.of("a") == 5


def test_a_disk_that_cannot_be_written_harms_no_fetch(tmp_path: Path) -> None:
    clock = Clock()
    kept = Durations(tmp_path / "no-such-folder/d.json", clock)
    fetch(kept, clock, "a", 5)
    assert kept.of("a") == 5


def test_what_was_fetched_first_is_forgotten_first(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "d.json"
    kept = Durations(file, clock)
    for number in range(MAX_KNOWN):
        fetch(kept, clock, f"{number}", 1)
    fetch(kept, clock, "0", 2)
    fetch(kept, clock, "more", 3)
    known = Durations(file, clock)
    assert (known.of("0"), known.of("1"), known.of("2"), known.of("more")) == (2, None, 1, 3)


@given(text=st.text() | st.sampled_from(['{"a": 1, "b": -1, "c": true, "d": "2"}', "[" * 9999]))
def test_a_file_of_any_content_is_read(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.mktemp("d") / "d.json"
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    kept = Durations(file)
    assert kept.of("b") is kept.of("c") is kept.of("d") is None
    assert kept.of("a") in {None, 1}
