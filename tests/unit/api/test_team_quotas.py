"""What a team can run of a flavor."""

from __future__ import annotations

import doctest
from typing import Any

import pytest

from devctl.api import ephemeral_acceleration_job, queues, team_quotas
from devctl.api.team_quotas import most_pods


@pytest.mark.parametrize("module", [ephemeral_acceleration_job, queues, team_quotas])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


def team(name: str, pods: int, **more: Any) -> dict[str, Any]:
    borrow = {"borrow": more.pop("borrow")} if "borrow" in more else {}
    return {
        "metadata": {"name": name},
        "spec": {"flavors": [{"name": "large", "pods": pods, **borrow}], **more},
    }


@pytest.mark.parametrize(
    ("own", "other", "most"),
    [
        (team("vision", 2), team("maps", 3), 5),
        (team("vision", 2, borrow=1), team("maps", 3), 3),
        (team("vision", 2, borrow=9), team("maps", 3), 5),
        (team("vision", 2), team("maps", 3, cohort="apart"), 2),
        (team("vision", 2, cohort="devctl"), team("maps", 3), 5),
    ],
)
def test_what_the_cohort_lends_counts(own: Any, other: Any, most: int) -> None:
    assert most_pods("vision", "large", [own, other]) == (most, "")


def test_a_team_without_quota_says_of_what_it_has_some() -> None:
    problem = most_pods("vision", "small", [team("vision", 2)]).problem
    assert problem.endswith("no quota of flavor `small`: set spec.flavor to one of: large")
    none = {"metadata": {"name": "vision"}, "spec": {}}
    assert most_pods("vision", "small", [none]).problem.endswith("it has none")
