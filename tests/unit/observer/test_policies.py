"""What the observer says about LifecyclePolicies."""

from __future__ import annotations

from typing import Any

import pytest
from devctl_observer.kinds.policies.model import KIND, Policy
from devctl_observer.kinds.policies.status import policy_status

from devctl.api.conditions import find
from devctl.api.lifecycle_policy import PolicyCondition
from unit.observer.objects import NOW, flavor


def policy(name: str = "gpus", **spec: Any) -> Policy:
    return KIND.parse({"metadata": {"name": name, "generation": 1}, "spec": spec})


def status(one: Policy, *others: Policy, **defaults: bool) -> dict[str, Any]:
    """Its status among other policies; whether each flavor is the default."""
    flavors = {name: flavor(name, default=default) for name, default in defaults.items()}
    return policy_status(one, [one, *others], flavors, NOW)


def conflict(one: Policy, *others: Policy) -> tuple[str, str]:
    said = find(status(one, *others), PolicyCondition.DEFAULT_CONFLICT)
    return said["status"], said["message"]


@pytest.mark.parametrize(
    ("flavors", "covers"),
    [([], True), (["big"], True), (["small", "big"], True), (["small"], False)],
)
def test_whether_servers_without_a_flavor_are_covered(flavors: list[str], *, covers: bool) -> None:
    assert status(policy(flavors=flavors), small=False, big=True)["coversDefault"] is covers


def test_a_flavor_that_does_not_exist_is_named() -> None:
    said = find(
        status(policy(flavors=["small", "gone"]), small=False), PolicyCondition.FLAVORS_FOUND
    )
    assert (said["status"], said["reason"]) == ("False", "FlavorNotFound")
    assert "no flavor gone:" in said["message"]
    for one in (policy(flavors=["small"]), policy(users=["alice"])):
        said = find(status(one, small=False), PolicyCondition.FLAVORS_FOUND)
        assert said["status"] == "True"


def test_two_defaults_for_the_same_servers_conflict() -> None:
    one, other = policy("one", idleTimeout={"default": "1h"}), policy("other")
    assert conflict(one, other) == ("False", "")
    other = policy("other", idleTimeout={"default": "2h"}, timeToLive={"default": "3d"})
    for found in (conflict(one, other), conflict(other, one)):
        assert found[0] == "True"
    assert "another default instead: idleTimeout of other;" in conflict(one, other)[1]


@pytest.mark.parametrize(
    ("default", "conflicts"),
    [("60m", False), (3600, False), ("1h", False), ("61m", True), (3601, True), ("soon", True)],
)
def test_the_same_default_in_other_words_is_no_conflict(default: Any, *, conflicts: bool) -> None:
    one, other = (
        policy(idleTimeout={"default": "1h"}),
        policy("o", idleTimeout={"default": default}),
    )
    assert conflict(one, other)[0] == str(conflicts)


def test_switches_are_compared_as_such() -> None:
    one, other = policy(autoShutdown={"default": True}), policy("o", autoShutdown={"default": True})
    assert conflict(one, other)[0] == "False"
    assert conflict(one, policy("o", autoShutdown={"default": False}))[0] == "True"


@pytest.mark.parametrize(
    ("mine", "theirs", "conflicts"),
    [
        ({"flavors": ["a"]}, {"flavors": ["b"]}, False),
        ({"flavors": ["a", "b"]}, {"flavors": ["b"]}, True),
        ({"flavors": ["a"]}, {"users": ["alice"]}, True),
        ({"users": ["alice"]}, {"users": ["bob"]}, False),
        ({"flavors": ["a"], "users": ["alice"]}, {"flavors": ["a"], "users": ["bob"]}, False),
    ],
)
def test_policies_without_common_servers_do_not_conflict(
    mine: dict[str, Any], theirs: dict[str, Any], *, conflicts: bool
) -> None:
    one = policy(**mine, timeToLive={"default": "1d"})
    other = policy("other", **theirs, timeToLive={"default": "2d"})
    assert conflict(one, other)[0] == str(conflicts)
