"""What the host's tool has written, in each of its forms, and what is written beside it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from devctl_dra_plugin import entries, reservations
from devctl_dra_plugin.entries import Reservation, parse
from devctl_dra_plugin.planning import ClaimError, Given, Preparation
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from devctl_dra_plugin.reservations import Found

NOW = 1_800_000_000.0
ALICE = Reservation(1, "alice", "alice", "run", NOW - 900, NOW - 10)


def claim(number: int, *gpus: int, admin: bool = False) -> Preparation:
    given = tuple(Given("main", each, f"u{each}", None, admin) for each in gpus)
    return Preparation(f"uid-{number}", "team-a", f"train-{number}", given)


def after(found: Found, states: dict[int, str]) -> Found:
    """What the keys say once these are written."""
    read = {index: parse(index, text) for index, text in states.items()}
    return {index: each for index, each in (found | read).items() if each is not None}


@pytest.mark.parametrize(
    ("said", "is_over"),
    [
        # As its scripts in Redis write it, as its heartbeat does, and as its first version did.
        ({"type": "run", "last_heartbeat": NOW - 299}, False),
        ({"type": "run", "last_heartbeat": NOW - 301}, True),
        ({"type": "run", "last_heartbeat": "2027-01-15T02:59:59.123456789-05:00"}, False),
        ({"type": "run", "last_heartbeat": "2027-01-15T07:50:00Z", "expiry_time": None}, True),
        ({"type": "run", "last_heartbeat": str(NOW - 301.5)}, True),
        ({"type": "manual", "expiry_time": NOW + 1}, False),
        ({"type": "manual", "expiry_time": NOW - 1}, True),
        ({"type": "manual", "expiry_time": None, "last_heartbeat": None}, False),
        # Of what makes no sense, nothing has ended.
        ({"type": "run", "last_heartbeat": "yesterday"}, False),
        ({"type": "run", "last_heartbeat": float("nan")}, False),
        ({"type": "run", "last_heartbeat": [1]}, False),
        ({"type": "other", "expiry_time": 1}, False),
        ({}, False),
    ],
)
def test_a_reservation_ends_by_the_tools_rules(said: dict[str, Any], *, is_over: bool) -> None:
    found = parse(1, json.dumps({"user": "alice"} | said))
    assert found
    assert found.is_over(NOW) == is_over
    assert reservations.reserved({1: found}, NOW) == ({} if is_over else {1: "alice"})


@pytest.mark.parametrize(
    "text",
    [
        None,
        "{}",
        '{"user": ""}',
        '{"user": null}',
        '{"start_time":null,"last_heartbeat":null,"last_released":"2027-01-15T07:50:00Z"}',
    ],
)
def test_a_gpu_without_a_user_is_free(text: str | None) -> None:
    assert parse(0, text) is None


@pytest.mark.parametrize("text", ["", "alice", "[]", "7", '{"user": "ali'])
def test_an_entry_that_cannot_be_read_is_somebodys(text: str) -> None:
    assert reservations.reserved({0: parse(0, text) or ALICE}, NOW) == {
        0: "someone whose entry is unreadable"
    }


def test_a_claim_gets_all_of_its_gpus_or_none() -> None:
    with pytest.raises(ClaimError, match=r"^GPU 1 is reserved on the host by alice$"):
        reservations.taken(claim(1, 0, 1), {1: ALICE}, NOW)
    manual = Reservation(1, "bob", kind="manual", expires=NOW + 60)
    with pytest.raises(ClaimError, match=r"by bob until 2027-01-15T08:01:00Z$"):
        reservations.taken(claim(1, 1), {1: manual}, NOW)
    found = after({}, dict(reservations.taken(claim(1, 0, 2), {1: ALICE}, NOW).states))
    assert {index: (each.user, each.claim) for index, each in found.items()} == {
        0: ("team-a/train-1", "uid-1"),
        2: ("team-a/train-1", "uid-1"),
    }


def test_an_entry_is_one_that_the_tool_reads() -> None:
    (text,) = reservations.taken(claim(1, 0), {}, NOW).states.values()
    assert json.loads(text) == {
        "user": "team-a/train-1",
        "actual_user": "kubernetes",
        "start_time": 1_800_000_000,
        "last_heartbeat": 1_800_000_000,
        "type": "run",
        "note": "claim uid-1",
    }


def test_what_has_ended_is_taken_and_goes_into_the_history() -> None:
    dead = Reservation(1, "alice", "alice", "run", NOW - 900, NOW - 400)
    change = reservations.taken(claim(1, 1), {1: dead}, NOW)
    assert change.ended == (dead,)
    assert json.loads(entries.usage(dead, NOW)) == {
        "user": "alice",
        "gpu_id": 1,
        "start_time": "2027-01-15T07:45:00Z",
        "end_time": "2027-01-15T08:00:00Z",
        "duration_seconds": 900,
        "reservation_type": "run",
    }


def test_a_sign_of_life_is_given_once_a_minute_and_keeps_the_start() -> None:
    holder = claim(1, 0)
    found = after({}, dict(reservations.taken(holder, {}, NOW).states))
    for later, writes in ((59, False), (61, True), (-61, True)):
        change = reservations.settled([holder], found, NOW + later, is_all=True)
        assert bool(change.states) == writes
        assert not change.ended
    kept = after(found, dict(reservations.settled([holder], found, NOW + 61, is_all=True).states))
    assert (kept[0].since, kept[0].heartbeat) == (NOW, NOW + 61)


def test_after_a_crash_each_sides_leftovers_end() -> None:
    """Of ours, a claim that the node no longer holds; of the tool's, who no longer shows up."""
    left = after({}, dict(reservations.taken(claim(1, 0), {}, NOW).states))
    assert not reservations.settled([], left, NOW, is_all=False).states, "it may be held"
    change = reservations.settled([], left, NOW, is_all=True)
    assert after(left, dict(change.states)) == {}
    assert change.ended == (left[0],)
    assert left[0].is_over(NOW + 301), "the tool takes it even if the plugin never returns"


def test_entries_that_were_lost_are_written_again() -> None:
    """Redis has lost its data, or an administrator has started the tool's pool afresh."""
    change = reservations.settled([claim(1, 0, 1)], {}, NOW, is_all=True)
    assert set(change.states) == {0, 1}
    assert not change.lost


def test_a_gpu_that_the_tool_took_while_a_claim_holds_it_is_reported_and_left() -> None:
    change = reservations.settled([claim(1, 1)], {1: ALICE}, NOW, is_all=True)
    assert change == reservations.Change({}, (), (ALICE,))


def test_only_a_claims_own_gpus_are_given_back() -> None:
    other = after({}, dict(reservations.taken(claim(2, 0), {}, NOW).states))
    own = after({}, dict(reservations.taken(claim(1, 2), {}, NOW).states))
    change = reservations.given_back(claim(1, 0, 1, 2), other | {1: ALICE} | own, NOW)
    assert set(change.states) == {2}
    assert json.loads(change.states[2]) == {"last_released": "2027-01-15T08:00:00Z"}


def test_an_administrators_access_takes_no_gpu() -> None:
    assert not reservations.taken(claim(1, 0, admin=True), {0: ALICE}, NOW).states


@given(st.text(max_size=200))
def test_any_user_becomes_a_taints_value(user: str) -> None:
    value = reservations.label(user)
    assert 0 < len(value) <= 63
    assert value.isascii()
    assert value[0].isalnum()
    assert value[-1].isalnum()


texts = st.one_of(st.none(), st.text(), st.floats().map(json.dumps), st.binary().map(str))
values = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=40))


@given(
    st.dictionaries(
        st.sampled_from(["user", "actual_user", "type", "last_heartbeat", "expiry_time", "note"]),
        st.one_of(values, st.sampled_from(["run", "manual", "kubernetes", "claim uid-1"])),
    )
)
def test_whatever_is_written_is_judged(said: dict[str, Any]) -> None:
    found = parse(0, json.dumps(said))
    if found is not None:
        assert str(found)
        assert json.loads(entries.usage(found, NOW))
        reservations.settled([claim(1, 0)], {0: found}, NOW, is_all=True)
