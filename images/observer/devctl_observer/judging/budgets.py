"""What a budget and what has been spent of it mean, for users and for teams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from devctl.api.budgets import OVER_BUDGET, Reason
from devctl.api.conditions import find
from devctl.api.prices import CURRENCY, in_cents, parse_amount
from devctl.api.usage import next_month, start_of
from devctl_observer.judging.conditions import FALSE, TRUE, condition
from devctl_observer.judging.model import Base, Transition

MOST_NOTICES = 8
_LONGEST = 1024


class Budget(Base, frozen=True):
    """What may be spent in a month."""

    per_month: int | str
    currency: str = CURRENCY
    warn_at_percent: int = 80
    refuse: bool = False


class Spent(NamedTuple):
    """What has been spent, in millionths of the budget's currency."""

    month: str
    amount: int


def judge_budget(budget: Budget, spent: Spent) -> tuple[dict[str, Any], dict[str, Any]]:
    """The field `budget` of a status, and the condition beside it."""
    limit = parse_amount(budget.per_month)
    percent = 100 * spent.amount // limit if limit else 100 * min(spent.amount, 1)
    told = f"has spent {in_cents(spent.amount)} of {in_cents(limit)} {budget.currency}"
    told += f" in {_named(spent.month)}"
    if spent.amount > limit:
        told += f", {in_cents(spent.amount - limit)} too much"
        until = f"nothing starts until {_named(next_month(spent.month))} (UTC)"
        told += f"; {until}, or until an administrator raises the budget" if budget.refuse else ""
        said = condition(OVER_BUDGET, TRUE, Reason.OVER, told)
    elif spent.amount and 100 * spent.amount >= limit * budget.warn_at_percent:
        said = condition(OVER_BUDGET, FALSE, Reason.NEAR, f"{told}, {percent} %")
    else:
        said = condition(OVER_BUDGET, FALSE, Reason.WITHIN, "")
    status = {
        "month": spent.month,
        "spent": in_cents(spent.amount),
        "currency": budget.currency,
        # A schema has bounds.
        "percent": min(percent, 1_000_000),
    }
    return status, said


def budget_transitions(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Transition]:
    """The Event for a budget that is nearly or more than spent, or is no more."""
    said, old = find(after, OVER_BUDGET), find(before, OVER_BUDGET)
    reason = said.get("reason")
    if not reason or reason == old.get("reason", Reason.WITHIN):
        return
    within = reason == Reason.WITHIN
    message = "its budget is not nearly spent any more" if within else str(said["message"])
    yield Transition("Normal" if within else "Warning", str(reason), message)


def notice(who: str, status: Mapping[str, Any]) -> str:
    """What is to be known about a budget that is nearly or more than spent; empty else."""
    said = find(status, OVER_BUDGET)
    known = said.get("reason") in {Reason.NEAR, Reason.OVER}
    return f"{who} {said['message']}"[:_LONGEST] if known else ""


def until_next_month(now: datetime, month: str) -> float:
    """The seconds until a month is over."""
    end = datetime.fromtimestamp(start_of(next_month(month)), UTC)
    return max(1.0, (end - now).total_seconds() + 1)


def _named(month: str) -> str:
    return f"{datetime.fromtimestamp(start_of(month), UTC):%B %Y}"
