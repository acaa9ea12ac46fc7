from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from devctl_node_agent.schedule import Answer, Schedule, View
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

ACCEPTED, ABSENT, FAILED = Answer.ACCEPTED, Answer.ABSENT, Answer.FAILED


def pods(now: float, **last: float) -> dict[str, View]:
    """Pods by when they were last active."""
    return {uid: View(now - moment, moment) for uid, moment in last.items()}


def reported(now: float = 0.0, report_at: Sequence[int] = (), **last: float) -> Schedule:
    schedule = Schedule({"a": report_at})
    schedule.answered(now, pods(now, **last), ACCEPTED, 0.5)
    return schedule


def test_the_first_report_is_due_at_once() -> None:
    assert Schedule().due({}) == -math.inf


def test_a_report_is_due_a_minute_after_the_last() -> None:
    assert reported(100.0, a=50.0).due(pods(105.0, a=50.0)) == 160


def test_an_active_pod_that_stays_so_is_no_news() -> None:
    assert reported(100.0, a=100.0).due(pods(110.0, a=110.0)) == 160


@pytest.mark.parametrize(
    "now", [pods(112.0, a=112.0), pods(112.0, a=50.0, b=112.0), {}], ids=["active", "new", "gone"]
)
def test_news_is_due_ten_seconds_after_the_last(now: dict[str, View]) -> None:
    assert reported(100.0, a=50.0).due(now) == 110


def test_a_wanted_age_is_due_when_it_is_reached_and_once_more_five_seconds_later() -> None:
    schedule = reported(100.0, (60,), a=50.0)
    assert schedule.due(pods(101.0, a=50.0)) == 110
    schedule.answered(110.0, pods(110.0, a=50.0), ACCEPTED, 0.5)
    assert schedule.due(pods(111.0, a=50.0)) == 115
    schedule.answered(115.0, pods(115.0, a=50.0), ACCEPTED, 0.5)
    assert schedule.due(pods(116.0, a=50.0)) == 175


def test_two_reports_are_a_second_apart() -> None:
    schedule = reported(100.0, (50, 51), a=50.0)
    assert schedule.due(pods(100.0, a=50.0)) == 101


def test_a_wanted_age_that_was_reported_is_not_due_again() -> None:
    schedule = reported(170.0, (), a=50.0)
    schedule.report_at = {"a": [60, 120, 500]}
    assert schedule.due(pods(171.0, a=50.0)) == 230


def test_after_activity_the_wanted_ages_are_due_again() -> None:
    schedule = reported(170.0, (60,), a=50.0)
    schedule.answered(200.0, pods(200.0, a=200.0), ACCEPTED, 0.5)
    schedule.answered(255.0, pods(255.0, a=200.0), ACCEPTED, 0.5)
    assert schedule.due(pods(256.0, a=200.0)) == 260


def test_a_wish_about_a_pod_that_is_gone_is_ignored() -> None:
    assert reported(100.0, (60,)).due({}) == 160


def test_an_absent_object_is_tried_again_after_ten_seconds() -> None:
    schedule = Schedule()
    schedule.answered(5.0, {}, ABSENT, 0.0)
    assert schedule.due({}) == 15


def test_failures_back_off_and_a_success_ends_that() -> None:
    schedule = reported(0.0)
    waits = []
    for _ in range(9):
        schedule.answered(1000.0, {}, FAILED, 1.0)
        waits.append(schedule.due({}) - 1000)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    schedule.answered(1000.0, {}, FAILED, 0.0)
    assert schedule.due({}) == 1030
    schedule.answered(1030.0, {}, ACCEPTED, 0.0)
    assert schedule.due({}) == 1090


def test_a_wanted_age_outlasts_failures() -> None:
    schedule = reported(100.0, (60,), a=50.0)
    schedule.answered(110.0, pods(110.0, a=50.0), FAILED, 1.0)
    assert schedule.due(pods(110.5, a=50.0)) == 111


@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.sampled_from("abc"), st.booleans(), max_size=3),
            st.sampled_from([ACCEPTED, ACCEPTED, ABSENT, FAILED]),
            st.floats(0, 1),
            st.lists(st.integers(0, 100), max_size=3),
        ),
        max_size=30,
    )
)
def test_reports_are_never_more_than_a_second_and_at_most_a_minute_apart(
    steps: list[tuple[dict[str, bool], Answer, float, list[int]]],
) -> None:
    schedule, now, last = Schedule(), 0.0, dict.fromkeys("abc", 0.0)
    for active, answer, jitter, wanted in steps:
        last |= {uid: now for uid, busy in active.items() if busy}
        seen = {uid: View(now - last[uid], last[uid]) for uid in active}
        schedule.answered(now, seen, answer, jitter)
        schedule.report_at = dict.fromkeys("abc", wanted)
        due = schedule.due(seen)
        assert (1 if answer is ACCEPTED else 0.5) <= due - now + 1e-9 <= 60.001
        now = due
