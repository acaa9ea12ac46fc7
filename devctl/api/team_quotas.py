"""What a team can run of a flavor: roles refuse what would wait forever, and block the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.api.messages import listed
from devctl.api.queues import COHORT

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


class Most(NamedTuple):
    """The pods of a flavor that a team can run if its cohort uses none, or why there are none."""

    pods: int
    problem: str = ""


def most_pods(
    team: str, flavor: str, teams: Sequence[Mapping[str, Any]], cordoned: Collection[str] = ()
) -> Most:
    """How many pods of a flavor a team can run at most.

    Args:
        team: Its name.
        flavor: Its name.
        teams: Every DevServerTeam.
        cordoned: Flavors that are not offered instead.

    >>> most_pods("vision", "large", []).problem
    'team `vision` does not exist: ask an administrator to create it'
    """
    specs = {found["metadata"]["name"]: found["spec"] for found in teams}
    if team not in specs:
        return Most(0, f"team `{team}` does not exist: ask an administrator to create it")
    quotas = {quota["name"]: quota for quota in specs[team].get("flavors", [])}
    if flavor not in quotas:
        free = sorted(quotas.keys() - set(cordoned))
        none = "all that it has are cordoned" if quotas else "it has none"
        offers = f"set spec.flavor to one of: {listed(free)}" if free else none
        return Most(0, f"team `{team}` has no quota of flavor `{flavor}`: {offers}")
    cohort, own = specs[team].get("cohort", COHORT), quotas[flavor]
    total = sum(
        int(quota["pods"])
        for spec in specs.values()
        if spec.get("cohort", COHORT) == cohort
        for quota in spec.get("flavors", [])
        if quota["name"] == flavor
    )
    return Most(min(total, own["pods"] + own["borrow"]) if "borrow" in own else total)
