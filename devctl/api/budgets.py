"""Budgets of users and teams: what they may spend in a month."""

from __future__ import annotations

from enum import StrEnum

OVER_BUDGET = "OverBudget"
"""Condition of a DevServerUser or DevServerTeam with a budget: whether more is spent."""


class Reason(StrEnum):
    """Reasons of that condition."""

    WITHIN = "WithinBudget"
    NEAR = "NearBudget"
    """As much is spent as is to be warned of."""
    OVER = "OverBudget"
