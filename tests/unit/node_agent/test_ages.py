from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from devctl_node_agent import report
from devctl_node_agent.ages import Age, Ages
from devctl_node_agent.signals import Reading
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.node_activity import MAX_DETAIL, MAX_PODS, Signal

IDLE = Reading(active=False)
BUSY = Reading(active=True, detail="python (pid 7)")
UNKNOWN = Reading(active=True, detail="unreadable", unknown=True)


def test_ages_start_at_zero() -> None:
    ages = Ages()
    ages.update("a", 1000.0, {Signal.CPU: IDLE})
    assert ages.idle("a", 1000.0) == 0
    assert ages.idle("a", 1007.5) == 7.5


def test_a_pod_is_as_idle_as_the_most_active_of_its_signals() -> None:
    ages = Ages()
    for now in (0.0, 10.0, 20.0):
        process = BUSY if now == 10 else IDLE
        ages.update("a", now, {Signal.CPU: IDLE, Signal.PROCESS: process})
    assert ages.signals("a", 25.0) == {
        Signal.CPU: Age(25.0, unknown=False, detail=""),
        Signal.PROCESS: Age(15.0, unknown=False, detail="python (pid 7)"),
    }
    assert ages.idle("a", 25.0) == 15


def test_unknown_is_now_until_it_is_known_again() -> None:
    ages = Ages()
    ages.update("a", 0.0, {Signal.CPU: IDLE})
    ages.update("a", 10.0, {Signal.CPU: UNKNOWN})
    assert ages.signals("a", 15.0)[Signal.CPU] == Age(0.0, unknown=True, detail="unreadable")
    ages.update("a", 20.0, {Signal.CPU: IDLE})
    assert ages.signals("a", 25.0)[Signal.CPU] == Age(15.0, unknown=False, detail="")


def test_what_jupyter_remembers_counts_from_when_the_agent_has_seen_the_pod() -> None:
    ages = Ages()
    ages.update("a", 100.0, {Signal.JUPYTER: IDLE._replace(last=5.0)})
    assert ages.idle("a", 110.0) == 10
    ages.update("a", 110.0, {Signal.JUPYTER: Reading(active=False, detail="a cell", last=107.0)})
    assert ages.signals("a", 110.0)[Signal.JUPYTER] == Age(3.0, unknown=False, detail="a cell")
    ages.update("a", 120.0, {Signal.JUPYTER: IDLE._replace(last=1e9)})
    assert ages.idle("a", 120.0) == 0


def test_a_signal_that_a_pod_no_longer_has_goes_on_to_age() -> None:
    ages = Ages()
    ages.update("a", 0.0, {Signal.CPU: IDLE, Signal.JUPYTER: IDLE})
    ages.update("a", 10.0, {Signal.CPU: IDLE, Signal.JUPYTER: BUSY})
    ages.update("a", 20.0, {Signal.CPU: IDLE})
    assert ages.signals("a", 20.0)[Signal.JUPYTER].idle == 10
    assert ages.idle("a", 20.0) == 10


def test_other_pods_are_forgotten() -> None:
    ages = Ages()
    for pod in ("a", "b"):
        ages.update(pod, 0.0, {Signal.CPU: IDLE})
    ages.keep({"b"})
    assert ages.pods.keys() == {"b"}
    ages.update("a", 50.0, {Signal.CPU: IDLE})
    assert ages.idle("a", 50.0) == 0


READINGS = st.builds(
    Reading,
    active=st.booleans(),
    detail=st.text(max_size=5),
    unknown=st.booleans(),
    last=st.floats(-1e3, 1e6),
)


STEPS = st.lists(
    st.tuples(
        st.floats(0, 1000), st.dictionaries(st.sampled_from(list(Signal)), READINGS, max_size=4)
    ),
    min_size=1,
    max_size=20,
)


@given(STEPS, st.floats(0, 1000))
def test_an_age_is_the_time_since_the_last_activity(
    steps: list[tuple[float, dict[Signal, Reading]]], later: float
) -> None:
    ages, now = Ages(), 0.0
    last = steps[0][0]
    for wait, readings in steps:
        now += wait
        ages.update("a", now, readings)
        for reading in readings.values():
            known = now if reading.active or reading.unknown else min(reading.last, now)
            last = max(last, known)
    assert ages.idle("a", now + later) == now + later - last
    for age in ages.signals("a", now + later).values():
        assert ages.idle("a", now + later) <= age.idle or age.unknown


def status(ages: Ages, now: float = 100.0) -> dict[str, Any]:
    at = datetime(2026, 11, 25, 8, tzinfo=UTC)
    return report.status(ages, now, instance="i", sequence=3, wall_clock=at)


def test_a_report_is_sorted_and_rounded_down() -> None:
    ages = Ages()
    ages.update("b", 0.2, {Signal.PROCESS: BUSY, Signal.CPU: IDLE})
    ages.update("a", 100.0, {Signal.CPU: UNKNOWN})
    found = status(ages)
    assert found == {
        "instance": "i",
        "sequence": 3,
        "reportedAt": "2026-11-25T08:00:00Z",
        "pods": [
            {
                "uid": "a",
                "idleSeconds": 0,
                "signals": [
                    {"type": "CPU", "idleSeconds": 0, "unknown": True, "detail": "unreadable"}
                ],
            },
            {
                "uid": "b",
                "idleSeconds": 99,
                "signals": [
                    {"type": "CPU", "idleSeconds": 99, "unknown": False, "detail": ""},
                    {
                        "type": "Process",
                        "idleSeconds": 99,
                        "unknown": False,
                        "detail": "python (pid 7)",
                    },
                ],
            },
        ],
    }


def test_a_report_is_bounded() -> None:
    ages = Ages()
    for number in range(MAX_PODS + 10):
        ages.update(f"{number:04}", 0.0, {Signal.CPU: Reading(active=True, detail="\x1b" * 500)})
    pods = status(ages)["pods"]
    assert [pod["uid"] for pod in pods] == [f"{number:04}" for number in range(MAX_PODS)]
    detail = pods[0]["signals"][0]["detail"]
    assert len(detail) == MAX_DETAIL
    assert detail.isprintable()


def test_the_observers_wishes_are_in_the_answer() -> None:
    pods = [{"uid": "a", "reportAt": [540, 600]}, {"uid": "b"}]
    assert report.wanted_ages({"spec": {"pods": pods}}) == {"a": [540, 600], "b": []}
    nothings: list[Any] = [None, {}, {"spec": None}, {"spec": {}}, {"spec": {"pods": [{}]}}]
    for nothing in nothings:
        assert report.wanted_ages(nothing) == {}
