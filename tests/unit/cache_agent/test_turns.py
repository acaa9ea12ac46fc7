"""Whose turn it is."""

from __future__ import annotations

from devctl_cache_agent.turns import REFRESH, Turns

from unit.cache_agent.items import mirror, model

A, B, C = mirror("a"), mirror("b"), model()


def test_what_is_new_comes_first_then_whoever_has_waited_longest() -> None:
    turns = Turns()
    assert turns.next([A, B], 0.0) == A
    turns.done(A, 0.0, 0.5, failed=False)
    assert turns.next([A, B], 0.0) == B
    turns.done(B, 5.0, 0.5, failed=False)
    assert turns.next([A, B], 9.0) is None
    assert turns.pause([A, B], 9.0) == REFRESH - 9.0
    assert turns.next([A, B, C], 2 * REFRESH) == C
    assert turns.next([A, B], 2 * REFRESH) == A


def test_a_failure_is_tried_again_ever_later_but_never_much_later() -> None:
    turns = Turns()
    waits = []
    now = 0.0
    for _ in range(12):
        turns.done(A, now, 0.5, failed=True)
        wait = turns.pause([A], now)
        waits.append(wait)
        now += wait
    assert waits[:4] == [10.0, 20.0, 40.0, 80.0]
    assert waits[-1] == 600.0
    turns.done(A, now, 0.5, failed=False)
    turns.done(A, now, 0.5, failed=True)
    assert turns.pause([A], now) == 10.0


def test_a_failing_item_does_not_hold_up_others() -> None:
    turns = Turns()
    turns.done(A, 0.0, 0.0, failed=True)
    assert turns.next([A, B], 0.0) == B


def test_what_is_dropped_is_forgotten_and_new_when_it_comes_back() -> None:
    turns = Turns()
    turns.done(A, 0.0, 0.5, failed=False)
    assert turns.next([A], 1.0) is None
    turns.keep([])
    assert turns.next([A], 1.0) == A


def test_without_items_there_is_time() -> None:
    assert Turns().pause([], 0.0) == 60.0
