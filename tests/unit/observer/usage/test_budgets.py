"""Budgets: what they mean, who has spent what, and who is told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from devctl_observer.control.standard import Seen
from devctl_observer.judging.budgets import (
    Budget,
    Spent,
    budget_transitions,
    judge_budget,
    notice,
    until_next_month,
)
from devctl_observer.kinds.teams.model import KIND as TEAM
from devctl_observer.kinds.teams.status import team_status
from devctl_observer.kinds.usage.book import Book
from devctl_observer.kinds.usage.totals import Totals
from devctl_observer.kinds.users.model import KIND as USER
from devctl_observer.kinds.users.status import user_status
from devctl_observer.watching.store import Key

from devctl.api.conditions import find
from devctl.api.prices import HOUR, Price
from devctl.api.usage import Amounts, LineKey
from unit.observer.objects import NOW

EUR, USD = Price(1, 0, "EUR"), Price(1, 0, "USD")
BUDGET = Budget("500", "EUR", refuse=True)
APPLIED = {"type": "Applied", "status": "True", "observedGeneration": 1, "reason": "Applied"}


def spent(amount: float) -> Spent:
    return Spent("2026-11", round(amount * 1_000_000))


@pytest.mark.parametrize(
    ("amount", "status", "reason", "percent", "said"),
    [
        (0, "False", "WithinBudget", 0, ""),
        (399.99, "False", "WithinBudget", 79, ""),
        (400, "False", "NearBudget", 80, "has spent 400.00 of 500.00 EUR in November 2026, 80 %"),
        (500, "False", "NearBudget", 100, "500.00 of 500.00 EUR"),
        (512.3, "True", "OverBudget", 102, "has spent 512.30 of 500.00 EUR in November 2026, "),
        (512.3, "True", "OverBudget", 102, "12.30 too much; nothing starts until December 2026"),
    ],
)
def test_what_a_budget_means(
    amount: float, status: str, reason: str, percent: int, said: str
) -> None:
    found, over = judge_budget(BUDGET, spent(amount))
    assert (over["status"], over["reason"], found["percent"]) == (status, reason, percent)
    assert said in over["message"]
    assert found["month"] == "2026-11"


def test_without_refusal_nothing_is_said_of_it() -> None:
    _, over = judge_budget(Budget(500), spent(501))
    assert over["message"] == "has spent 501.00 of 500.00 USD in November 2026, 1.00 too much"


def test_a_budget_of_nothing() -> None:
    assert judge_budget(Budget(0), spent(0))[1]["reason"] == "WithinBudget"
    assert judge_budget(Budget(0), spent(0.01))[1]["reason"] == "OverBudget"


def test_events_tell_of_each_turn_once() -> None:
    def status(amount: float) -> dict[str, Any]:
        return {"conditions": [judge_budget(BUDGET, spent(amount))[1]]}

    def told(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str]]:
        return [(said.type, said.reason) for said in budget_transitions(before, after)]

    assert told({}, status(1)) == []
    assert told(status(1), status(450)) == [("Warning", "NearBudget")]
    assert told(status(450), status(460)) == []
    assert told(status(450), status(501)) == [("Warning", "OverBudget")]
    assert told(status(501), status(0)) == [("Normal", "WithinBudget")]
    assert told(status(501), {}) == []


def test_who_is_to_know() -> None:
    near = {"conditions": [judge_budget(BUDGET, spent(450))[1]]}
    assert notice("user `alice`", near).startswith("user `alice` has spent 450.00 of 500.00 EUR")
    assert notice("user `alice`", {"conditions": [judge_budget(BUDGET, spent(1))[1]]}) == ""
    assert notice("team `x`", {}) == ""


def test_a_month_ends() -> None:
    eve = datetime(2026, 12, 31, 23, 59, 50, tzinfo=UTC)
    assert until_next_month(eve, "2026-12") == 11
    assert until_next_month(eve, "2026-11") == 1


def test_the_status_of_users_and_teams_has_it() -> None:
    metadata = {"name": "alice", "generation": 1}
    budget = {"perMonth": 5, "currency": "EUR"}
    status: dict[str, Any] = {"conditions": [APPLIED]}
    user: Any = USER.parse(
        {"metadata": metadata, "spec": {"username": "a", "budget": budget}, "status": status}
    )
    found = user_status(Seen(user), NOW, lambda _: spent(6))
    assert find(found, "OverBudget")["status"] == "True"
    assert found["budget"]["spent"] == "6.00"
    assert "budget" not in user_status(Seen(user), NOW)
    team: Any = TEAM.parse({"metadata": metadata, "spec": {"budget": budget}, "status": status})
    found = team_status(Seen(team), NOW, (), lambda _: spent(4.5))
    assert find(found, "OverBudget")["reason"] == "NearBudget"
    without: Any = TEAM.parse({"metadata": metadata, "spec": {}, "status": status})
    assert not find(team_status(Seen(without), NOW, (), lambda _: spent(9)), "OverBudget")


def test_totals_follow_every_version_of_a_book() -> None:
    def book(month: str, **costs: int) -> Book:
        return Book(
            month,
            {
                LineKey(owner, "DevServer", team="vision", price=price): Amounts(cost=cost * HOUR)
                for owner, cost in costs.items()
                for price in (EUR, USD)
            },
        )

    totals, one, other = Totals(), Key("a", "2026-11"), Key("b", "2026-11")
    assert totals.note(one, book("2026-11", alice=5)) == {("owner", "alice"), ("team", "vision")}
    totals.note(other, book("2026-11", alice=7, bob=1))
    totals.note(Key("a", "2026-10"), book("2026-10", alice=99))
    assert totals.spent("2026-11", "owner", "alice", "EUR") == 12
    assert totals.spent("2026-11", "team", "vision", "USD") == 13
    # However often it is told of.
    assert totals.note(one, book("2026-11", alice=5)) == set()
    totals.note(one, book("2026-11", alice=6))
    assert totals.spent("2026-11", "owner", "alice", "EUR") == 13
    totals.note(one, None)
    totals.note(other, None)
    assert totals.spent("2026-11", "owner", "alice", "EUR") == 0
    assert totals.spent("2026-10", "owner", "alice", "EUR") == 99
