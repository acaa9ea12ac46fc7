"""A LifecyclePolicy's conditions."""

from __future__ import annotations

from enum import StrEnum


class PolicyCondition(StrEnum):
    """Condition types of a LifecyclePolicy."""

    DEFAULT_CONFLICT = "DefaultConflict"
    """Another policy gives the same servers another default, so which of them wins is undefined."""
    FLAVORS_FOUND = "FlavorsFound"
    """Whether every flavor that it names exists."""
