"""How hooks ended: what a pod's scripts record, and what becomes of it in a status."""

from __future__ import annotations

import doctest
from typing import Any

import pytest
from devctl_observer.judging.conditions import condition
from devctl_observer.kinds.servers import hook_outcomes as module
from devctl_observer.kinds.servers.hook_outcomes import (
    Ended,
    Outcome,
    ended,
    event_of,
    hook_transitions,
    merged,
    parse,
)
from hypothesis import example, given
from hypothesis import strategies as st

from devctl.api.hooks import MAX_HOOKS, MAX_OUTCOMES, MAX_OUTPUT, RECORD, Result
from devctl.api.labels import HOOKS, STOPPED_BY
from unit.observer.objects import ago, container, exited, pod, server

DONE = ago(seconds=1)
GOES = {"deletionTimestamp": ago(seconds=0), "annotations": {HOOKS: "save,push"}}
RECORDED = (
    f"{RECORD}\nbegin save\nout one\x1etwo\x1e\nend Failed 7 3\nbegin push\nend TimedOut 143 30\n"
)


def ends(message: str | None = RECORDED, code: int = 0, ordinal: int = 0, **changes: Any) -> Any:
    """A pod whose container has ended."""
    state = exited(code, message=message, startedAt=ago(hours=1), finishedAt=DONE)
    return pod(ordinal, containerStatuses=[container(state=state)], **{"meta": GOES} | changes)


def test_its_examples_hold() -> None:
    assert doctest.testmod(module).failed == 0


def test_a_record_says_how_each_hook_ended() -> None:
    assert ended(ends(ordinal=2), "Stopped") == Ended(
        2,
        "Stopped",
        DONE,
        [
            Outcome("save", Result.FAILED, 7, 3, "one | two"),
            Outcome("push", Result.TIMED_OUT, 143, 30),
        ],
    )


@pytest.mark.parametrize(
    ("record", "results"),
    [
        (f"{RECORD}\n", ["Unknown", "Unknown"]),
        (f"{RECORD}\nbegin save\n", ["Unknown", "Unknown"]),
        (f"{RECORD}\nbegin save\nend Succeeded 0 0\nbegin push\nout x", ["Succeeded", "Unknown"]),
        (f"{RECORD}\nbegin save\nend Succeeded 0 0 x\n", ["Unknown", "Unknown"]),
        (f"{RECORD}\nbegin save\nend Succeeded 0 9999999\n", ["Unknown", "Unknown"]),
        (f"{RECORD}\nbegin other\nend Succeeded 0 0\n", ["Unknown", "Unknown"]),
        (f"{RECORD}\nend Succeeded 0 0\n", ["Unknown", "Unknown"]),
    ],
)
def test_a_hook_without_an_end_may_not_have_ended(record: str, results: list[str]) -> None:
    found = parse(record, ["save", "push"])
    assert found
    assert [outcome.result for outcome in found] == results


@pytest.mark.parametrize("text", ["", "devctl-hooks", f" {RECORD}", f"error: full\n{RECORD}\n"])
def test_other_messages_are_no_records(text: str) -> None:
    assert parse(text, ["save"]) is None
    assert ended(ends(text, code=1), "Stopped") is None


@pytest.mark.parametrize("message", [None, "", "words of a program"])
def test_what_was_killed_without_a_record_got_no_time(message: str | None) -> None:
    found = ended(ends(message, code=137), "Evicted")
    assert found
    assert found.outcomes == [Outcome("save"), Outcome("push")]


@pytest.mark.parametrize(
    "one",
    [
        pod(ready=True, meta=GOES),
        pod(meta={"annotations": {HOOKS: "save"}}, containerStatuses=[container(state=exited(1))]),
        ends(meta={"deletionTimestamp": ago(seconds=0)}),
        ends(meta={"annotations": {HOOKS: "save"}}),
        ends(meta=GOES | {"name": "foreign"}),
        pod(containerStatuses=[container(state=exited(137))], meta=GOES),
    ],
    ids=["runs", "crashes", "without hooks", "is started again", "foreign", "no time"],
)
def test_of_other_pods_nothing_is_known(one: Any) -> None:
    assert ended(one, "Stopped") is None


def test_a_crash_does_not_make_a_record() -> None:
    last = {"terminated": exited(1)["terminated"] | {"message": RECORDED, "finishedAt": DONE}}
    one = pod(containerStatuses=[container(ready=True, last=last)], meta=GOES)
    assert ended(one, "Stopped") is None


ANYTHING = st.text(st.characters(), max_size=300)
LINES = st.lists(
    st.sampled_from([RECORD, "begin save", "begin push", "end Failed 1 2", "end TimedOut 137 600"])
    | st.builds("out {}".format, ANYTHING)
    | st.builds("end {} {} {}".format, ANYTHING, st.integers(), st.integers())
    | ANYTHING,
    max_size=80,
).map(lambda lines: "\n".join([RECORD, *lines]))
NAMES = st.lists(st.sampled_from("abcdefghijk"), unique=True, min_size=1, max_size=MAX_HOOKS)


@given(ANYTHING | LINES, NAMES | st.just(["save", "push"]))
@example(f"{RECORD}\nbegin save\nout 0\xa00", ["save"])
def test_whatever_is_recorded_the_status_takes_it(text: str, names: list[str]) -> None:
    found = parse(text, names)
    if found is None:
        assert text.split("\n", maxsplit=1)[0] != RECORD
        return
    assert [outcome.name for outcome in found] == names
    for entry in Ended(0, "Stopped", DONE, found).to_status():
        assert entry["result"] in set(Result)
        assert 0 <= entry.get("exitCode", 0) <= 999
        assert 0 <= entry.get("seconds", 0) <= 999999
        output = entry.get("output", "")
        assert len(output) <= MAX_OUTPUT
        assert output == "" or output.isprintable()


@given(ANYTHING)
def test_whatever_an_annotation_says_is_names_or_nothing(text: str) -> None:
    names = module.hooks_of(pod(meta={"annotations": {HOOKS: text}}))
    assert len(names) <= MAX_HOOKS
    assert all(name.isascii() and len(name) <= 32 for name in names)


def disrupted(reason: str) -> list[dict[str, str]]:
    return [{"type": "DisruptionTarget", "status": "True", "reason": reason}]


PREEMPTED = {"conditions": [condition("Ready", "False", "Preempted", "")]}


@pytest.mark.parametrize(
    ("one", "of", "more", "event"),
    [
        (ends(), server(stopped=True), {}, "Stopped"),
        (ends(), server(stopped=True), {"suspended": "UserSuspended"}, "UserSuspended"),
        (
            ends(),
            server(stopped=True, meta={"annotations": {STOPPED_BY: "IdleStopped"}}),
            {"suspended": "UserSuspended"},
            "IdleStopped",
        ),
        (ends(), server(), {"preempted": True}, "Preempted"),
        (ends(), server(PREEMPTED, stopped=True), {}, "Preempted"),
        (ends(), server(PREEMPTED), {}, "Replaced"),
        (ends(), server(), {}, "Replaced"),
        (ends(), server(meta={"deletionTimestamp": DONE}), {}, "Deleted"),
        (ends(conditions=disrupted("EvictionByEvictionAPI")), server(), {}, "Evicted"),
        (ends(conditions=disrupted("PreemptionByScheduler")), server(), {}, "Preempted"),
        (ends(conditions=disrupted("TerminationByKubelet")), server(stopped=True), {}, "Evicted"),
        (ends(phase="Failed", meta={"annotations": {HOOKS: "save"}}), server(), {}, "Evicted"),
    ],
)
def test_the_event_is_why_the_pod_ended(
    one: Any, of: Any, more: dict[str, Any], event: str
) -> None:
    given: dict[str, Any] = {"preempted": False, "suspended": ""} | more
    assert event_of(one, of, **given) == event


def an_end(replica: int, *results: str, at: str = DONE, event: str = "Stopped") -> Ended:
    outcomes = [Outcome(f"h{n}", Result(result), 0, 1, "out") for n, result in enumerate(results)]
    return Ended(replica, event, at, outcomes)


def test_each_replica_keeps_its_last_end() -> None:
    first = merged([], [an_end(1, "Succeeded", "Failed"), an_end(0, "Succeeded")])
    assert [(entry["replica"], entry["name"]) for entry in first] == [
        (0, "h0"),
        (1, "h0"),
        (1, "h1"),
    ]

    later = merged(first, [an_end(1, "TimedOut", at=ago(seconds=0))])
    assert [(entry["replica"], entry["result"]) for entry in later] == [
        (0, "Succeeded"),
        (1, "TimedOut"),
    ]


def test_an_end_that_an_earlier_process_has_seen_stays_as_it_is() -> None:
    known = merged([], [an_end(0, "Failed", event="Evicted")])
    assert merged(known, [an_end(0, "Failed", event="Stopped")]) == known


def test_of_too_many_those_that_did_not_succeed_are_kept_in_order() -> None:
    results = ["Succeeded"] * (MAX_HOOKS - 1)
    found = merged([], [an_end(replica, *results, "Failed") for replica in range(40)])
    assert len(found) == MAX_OUTCOMES
    assert sum(entry["result"] == "Failed" for entry in found) == 40
    assert [entry["replica"] for entry in found] == sorted(entry["replica"] for entry in found)


def told(*ends: Ended, known: Any = ()) -> list[tuple[str, str, str]]:
    after = merged(known, ends)
    return [(t.type, t.reason, t.message) for t in hook_transitions(known, after, "lab")]


def test_each_failure_has_an_event_and_all_successes_have_one() -> None:
    rest = "(Stopped); see `devctl describe lab`: out"
    failed = "hook `h1` failed with exit code 0 after 1 s"
    late = "hook `h1` did not end in time and was ended after 1 s"
    unknown = "hook `h2` may not have ended: the pod was killed first"
    good = "succeeded in replica 0 and 1 other (Stopped): `h0`, `h2`"
    assert told(
        an_end(0, "Succeeded", "Failed", "Succeeded"),
        an_end(1, "Succeeded", "TimedOut", "Unknown"),
    ) == [
        ("Warning", "HookFailed", f"{failed}, in replica 0 {rest}"),
        ("Warning", "HookTimedOut", f"{late}, in replica 1 {rest}"),
        ("Warning", "HookUnknown", f"{unknown}, in replica 1 {rest}"),
        ("Normal", "HooksSucceeded", good),
    ]


def test_what_is_known_is_not_told_again() -> None:
    known = merged([], [an_end(0, "Failed")])
    assert told(an_end(0, "Failed"), known=known) == []
    assert len(told(an_end(0, "Failed", at=ago(seconds=0)), known=known)) == 1
