"""A team's quota of a flavor, in pods."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Any

from devctl.api.placing import effective_requests
from devctl.api.quantities import parse_quantity
from devctl.client.flavors import Flavors
from devctl.errors import DeniedError, NotFoundError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from devctl.client.flavors import Flavor
    from devctl.kube.cluster import Cluster, Object

Amounts = dict[str, Decimal]
"""By resource."""
_NONE = Decimal(0)


@dataclass(frozen=True)
class TeamQuota:
    """What a team may use of a flavor at the same time, and what it uses."""

    queue: str
    """The queue in the namespace."""
    name: str
    """The queue of the whole team."""
    flavor: str
    pods: int
    """The quota."""
    used: int
    """Pods that run, or are about to."""
    free: int
    """Pods that could start now, with what other teams lend."""
    most: int
    """Pods that could run if nobody else used anything."""
    waiting: int = 0
    """Servers and jobs in the queue."""

    @property
    def team(self) -> str:
        """The name of the team, which has no dots."""
        return self.name.partition(".")[0]


def team_quotas(
    cluster: Cluster, flavors: Iterable[Flavor], namespace: str | None = None
) -> Sequence[TeamQuota] | None:
    """The quotas that a namespace counts against; None if they cannot be seen.

    Without Kueue, or without a team, there are none.
    """
    by_name = {flavor.name: flavor for flavor in flavors}
    try:
        local = list(cluster.list(resources.LocalQueue, namespace))
        wanted = {each["spec"]["clusterQueue"]: str(each["metadata"]["name"]) for each in local}
        if not wanted:
            return []
        known = {
            str(found["metadata"]["name"]): found for found in cluster.list(resources.ClusterQueue)
        }
    except NotFoundError:
        return []
    except DeniedError:
        return None
    quotas = (
        _quota(queue, known[name], known.values(), by_name)
        for name, queue in wanted.items()
        if name in known
    )
    return sorted((each for each in quotas if each), key=lambda each: each.flavor)


def pods_for(amounts: Mapping[str, Decimal], requests: Mapping[str, Decimal]) -> int:
    """How many pods with such requests fit into amounts; resources without an amount are free.

    >>> pods_for({"cpu": Decimal(5)}, {"cpu": Decimal(2), "memory": Decimal(1)})
    2
    """
    counts = [amounts[name] // need for name, need in requests.items() if need and name in amounts]
    return max(0, int(min(counts, default=_NONE)))


def requests_of(flavor: Flavor) -> Amounts:
    """What each pod of a flavor requests."""
    return effective_requests(flavor.requests, flavor.limits)


def known_flavors(cluster: Cluster) -> Sequence[Flavor]:
    """All flavors; none if the user may not see them."""
    try:
        return Flavors(cluster).list()
    except DeniedError:
        return ()


def _quota(
    queue: str, found: Object, everyone: Iterable[Object], flavors: Mapping[str, Flavor]
) -> TeamQuota | None:
    """A team's quota of the one flavor in its ClusterQueue; None if the flavor is gone."""
    names = [str(flavor["name"]) for flavor in _flavors(found)]
    flavor = flavors.get(names[0]) if names else None
    if flavor is None:
        return None
    requests, nominal, used = requests_of(flavor), _nominal(found), _used(found)
    lent, total = _of_others(found, everyone, flavor.name)
    free: Amounts = {}
    most: Amounts = {}
    for name, amount in nominal.items():
        limit, others = _limits(found).get(name), lent.get(name, _NONE)
        left = others if limit is None else min(others, limit)
        free[name] = amount - used.get(name, _NONE) + left
        beyond = total.get(name, _NONE)
        most[name] = amount + (beyond if limit is None else min(beyond, limit))
    return TeamQuota(
        queue=queue,
        name=str(found["metadata"]["name"]),
        flavor=flavor.name,
        pods=pods_for(nominal, requests),
        used=pods_in(used, requests),
        free=pods_for(free, requests),
        most=pods_for(most, requests),
        waiting=int((found.get("status") or {}).get("pendingWorkloads") or 0),
    )


def pods_in(amounts: Mapping[str, Decimal], requests: Mapping[str, Decimal]) -> int:
    """As how many pods with such requests amounts count: whatever uses up a resource of theirs.

    >>> pods_in({"cpu": Decimal(5)}, {"cpu": Decimal(2), "memory": Decimal(1)})
    3
    """
    # Not `//`, which truncates decimals.
    parts = [amounts[name] / need for name, need in requests.items() if need and name in amounts]
    return int(max(parts, default=_NONE).to_integral_value(ROUND_CEILING))


def _of_others(
    found: Object, everyone: Iterable[Object], flavor: str
) -> tuple[Mapping[str, Decimal], Mapping[str, Decimal]]:
    """What the cohort's other queues lend of a flavor now, and at most."""
    lent: defaultdict[str, Decimal] = defaultdict(Decimal)
    total: defaultdict[str, Decimal] = defaultdict(Decimal)
    cohort = found["spec"].get("cohortName")
    for other in everyone:
        same = cohort and other["spec"].get("cohortName") == cohort
        if not same or other["metadata"]["name"] == found["metadata"]["name"]:
            continue
        if flavor not in {each["name"] for each in _flavors(other)}:
            continue
        used = _used(other)
        for name, amount in _nominal(other).items():
            # Less than nothing if it has borrowed itself.
            lent[name] += amount - used.get(name, _NONE)
            total[name] += amount
    return lent, total


def _flavors(queue: Object) -> list[dict[str, Any]]:
    groups = queue["spec"].get("resourceGroups") or []
    return [flavor for group in groups for flavor in group["flavors"]]


def _nominal(queue: Object) -> Amounts:
    found = [each for flavor in _flavors(queue) for each in flavor["resources"]]
    return {each["name"]: parse_quantity(each["nominalQuota"]) for each in found}


def _limits(queue: Object) -> Amounts:
    """The most that a queue may borrow; without an entry, all that is lent."""
    found = [each for flavor in _flavors(queue) for each in flavor["resources"]]
    return {
        each["name"]: parse_quantity(each["borrowingLimit"])
        for each in found
        if each.get("borrowingLimit") is not None
    }


def _used(queue: Object) -> Amounts:
    flavors = (queue.get("status") or {}).get("flavorsReservation") or []
    found = [each for flavor in flavors for each in flavor.get("resources") or []]
    return {each["name"]: parse_quantity(each.get("total") or 0) for each in found}
