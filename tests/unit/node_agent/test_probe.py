"""What a pod may put in place of its activity probe's answer."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import pytest
from devctl_node_agent.probe import Answer, Timing, parse, read, timing, uptime
from devctl_node_agent.sample import Counters, Sample
from devctl_node_agent.signals import Reading, judge
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.node_activity import Signal

if TYPE_CHECKING:
    from pathlib import Path

NOW = 5000.0
USUAL = Timing(60, 5)
ENVIRONMENT = b"HOME=/\0DEVCTL_PROBE=exec true\0DEVCTL_PROBE_PERIOD=60\0DEVCTL_PROBE_TIMEOUT=5\0"


def test_the_first_process_tells_when_its_probe_is_asked() -> None:
    assert timing(ENVIRONMENT) == USUAL
    assert USUAL.max_age == 125
    assert timing(b"HOME=/\0DEVCTL_PROBE=\0") is None
    assert timing(b"HOME=/\0DEVCTL_PROBE_PERIOD=60\0") is None
    assert timing(b"") is None


@pytest.mark.parametrize("period", [b"", b"never", b"-1", b"1e9", b"999999999", b"nan", b"inf"])
def test_without_a_right_period_no_answer_holds(period: bytes) -> None:
    found = timing(b"DEVCTL_PROBE=x\0DEVCTL_PROBE_TIMEOUT=5\0DEVCTL_PROBE_PERIOD=" + period)
    assert found
    assert parse(b"5000.00 idle", NOW, found).problem


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("4990.51 active\n", Answer(active=True)),
        ("4990.51 idle\n", Answer(active=False)),
        ("4875 idle", Answer(active=False)),
        ("5001.99 idle", Answer(active=False)),
        ("4874 idle", Answer(problem="the probe has not answered for 126 s")),
        ("4874 active", Answer(problem="the probe has not answered for 126 s")),
        ("4990 unknown HTTP status 5xx", Answer(problem="HTTP status 5xx")),
        ("4990 unknown", Answer(problem="the probe's answer is unknown")),
        ("4990 unknown a\x1b[2Jb", Answer(problem="a?[2Jb")),
    ],
)
def test_the_last_answer_holds_for_some_time(text: str, answer: Answer) -> None:
    assert parse(text.encode(), NOW, USUAL) == answer


@pytest.mark.parametrize(
    "text",
    [
        *("", "idle", "4990", "4990 asleep", "-1 idle", "nan idle", "inf idle", "1e3 idle"),
        *("5003 idle", "99999999999999 idle", "4990.x idle", "٤٩٩٠ idle", "4990.51.1 idle"),
    ],
)
def test_what_makes_no_sense_is_no_answer(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a time and a state|from the future"):
        parse(text.encode(), NOW, USUAL)


def test_without_a_clock_nothing_is_known() -> None:
    assert parse(b"4990 idle", None, USUAL).problem


WORDS = st.sampled_from(["4990", "4990.5", "active", "idle", "unknown", " ", "\n", "1e400"])


@given(st.binary(max_size=600) | st.lists(WORDS).map(lambda words: " ".join(words).encode()))
def test_any_bytes_are_an_answer_or_a_value_error(data: bytes) -> None:
    try:
        found = parse(data, NOW, USUAL)
    except ValueError:
        return
    assert not (found.active and found.problem)
    assert len(found.problem) <= 128
    assert found.problem.isprintable()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "run/devctl"
    folder.mkdir(parents=True)
    return folder


def test_an_answer_is_read_from_its_file(folder: Path, tmp_path: Path) -> None:
    assert read(str(tmp_path), NOW, USUAL).problem == "the probe has not answered yet"
    assert read(str(tmp_path / "gone"), NOW, USUAL).problem == "the probe has not answered yet"
    (folder / "probe").write_text("4990 active\n")
    assert read(str(tmp_path), NOW, USUAL) == Answer(active=True)


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "large", "folder linked"])
def test_nothing_else_is_read(folder: Path, tmp_path: Path, kind: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("4990 idle")
    answer = folder / "probe"
    if kind == "link":
        answer.symlink_to(secret)
    elif kind == "pipe":
        os.mkfifo(answer)
    elif kind == "folder":
        answer.mkdir()
    elif kind == "large":
        answer.write_text("4990 idle" + " " * 600)
    else:
        folder.rename(tmp_path / "elsewhere")
        (tmp_path / "elsewhere/probe").write_text("4990 idle")
        folder.symlink_to(tmp_path / "elsewhere")
    assert read(str(tmp_path), NOW, USUAL).problem


def test_the_clock_is_the_one_of_the_script(tmp_path: Path) -> None:
    assert uptime(str(tmp_path)) is None
    (tmp_path / "uptime").write_text("5000.25 9999.00\n")
    assert uptime(str(tmp_path)) == 5000.25
    (tmp_path / "uptime").write_text("")
    assert uptime(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("answer", "reading"),
    [
        (Answer(active=True), Reading(active=True, detail="the activity probe")),
        (Answer(active=False), Reading(active=False)),
        (Answer(problem="late"), Reading(active=True, detail="late", unknown=True)),
    ],
)
def test_an_answer_is_one_more_signal(answer: Answer, reading: Reading) -> None:
    before = Counters(0, 0.0, 0, 0)
    found = judge(before, Sample(Counters(10, 0.0, 0, 0), probe=answer))
    assert found[Signal.PROBE] == reading
    without = judge(before, Sample(Counters(10, 0.0, 0, 0)))
    assert {**without, Signal.PROBE: reading} == found, "it changes no other one"


def test_after_a_long_gap_it_is_unknown_like_the_others() -> None:
    found = judge(Counters(0), Sample(Counters(100), probe=Answer(active=False)))
    assert found[Signal.PROBE].unknown
    assert Signal.PROBE not in judge(Counters(0), Sample(Counters(100)))


def test_not_a_number_is_no_age() -> None:
    assert math.isnan(Timing(math.nan, 5).max_age)
