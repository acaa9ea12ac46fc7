"""The whole status of a LifecyclePolicy: whether it means what its administrator wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from devctl.api.durations import parse_duration
from devctl.api.lifecycle_policy import PolicyCondition
from devctl.api.messages import listed
from devctl_observer.judging.conditions import FALSE, TRUE, condition, merge
from devctl_observer.kinds.flavors.model import Flavor
from devctl_observer.kinds.policies.model import Policy

OWN = tuple(PolicyCondition)


def policy_status(
    policy: Policy, policies: Iterable[Policy], flavors: Mapping[str, Flavor], now: datetime
) -> dict[str, Any]:
    """The desired status.

    Args:
        policy: The policy.
        policies: All of them.
        flavors: All flavors, by name.
        now: The time.
    """
    wanted = policy.spec.flavors
    default = any(flavors[name].spec.default for name in wanted if name in flavors)
    others = [other for other in policies if other.metadata.name != policy.metadata.name]
    conditions = [_conflict(policy, others), _found(wanted, flavors)]
    return {
        "coversDefault": default or not wanted,
        "conditions": merge(conditions, policy, now),
    }


def _found(wanted: Sequence[str], flavors: Mapping[str, Flavor]) -> dict[str, Any]:
    """Whether its flavors exist."""
    kind = PolicyCondition.FLAVORS_FOUND
    if missing := sorted(set(wanted) - flavors.keys()):
        message = f"there is no flavor {listed(missing)}: `devctl flavors` lists those that exist"
        return condition(kind, FALSE, "FlavorNotFound", message)
    return condition(kind, TRUE, "Found" if wanted else "EveryFlavor", "")


def _conflict(policy: Policy, others: Iterable[Policy]) -> dict[str, Any]:
    """Whether another policy gives a server another default for the same field."""
    kind = PolicyCondition.DEFAULT_CONFLICT
    said = [
        f"{field} of {other.metadata.name}"
        for other in sorted(others, key=lambda other: other.metadata.name)
        if _overlaps(policy, other)
        for field in sorted(policy.defaults.keys() & other.defaults.keys())
        if not _is_same(policy.defaults[field], other.defaults[field])
    ]
    if not said:
        return condition(kind, FALSE, "NoConflict", "")
    message = (
        f"servers may get another default instead: {listed(said)};"
        " give a default in one policy only, or let them apply to different flavors or users"
    )
    return condition(kind, TRUE, "SeveralDefaults", message)


def _overlaps(one: Policy, other: Policy) -> bool:
    """Whether a server may have both."""
    sides = [(one.spec.flavors, other.spec.flavors), (one.spec.users, other.spec.users)]
    return all(not a or not b or set(a) & set(b) for a, b in sides)


def _is_same(one: object, other: object) -> bool:
    """Whether two defaults mean the same, such as `1h` and 3600."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one == other
    try:
        return parse_duration(_value(one)) == parse_duration(_value(other))
    except ValueError:
        return False


def _value(value: object) -> int | str:
    return value if isinstance(value, int | str) else str(value)
