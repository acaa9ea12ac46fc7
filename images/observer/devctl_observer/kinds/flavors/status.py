"""The whole status of a DevServerFlavor: whether some node could hold a pod, and how many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from devctl.api.devserver import FlavorCondition
from devctl.api.flavors import listed
from devctl.api.placing import (
    Needs,
    NodeFacts,
    effective_requests,
    obstacle,
    room,
)
from devctl_observer.judging.conditions import FALSE, TRUE, condition, merge, word
from devctl_observer.kinds.flavors.model import Flavor
from devctl_observer.kinds.flavors.placed_pods import NodeUse


def flavor_status(
    flavor: Flavor,
    flavors: Mapping[str, Flavor],
    nodes: Sequence[NodeFacts],
    use: NodeUse,
    now: datetime,
) -> dict[str, Any]:
    """What status should say about a flavor."""
    found = fit(flavor, nodes)
    wanted = [
        _default_conflict(flavor, flavors),
        condition(
            FlavorCondition.SCHEDULABLE, word(found.schedulable), found.reason, found.message
        ),
    ]
    observed = flavor.status.get("conditions", [])
    return {
        "schedulable": found.schedulable,
        **counts(flavor, nodes, use)._asdict(),
        "conditions": merge(wanted, observed, flavor.metadata.generation, now),
    }


def _default_conflict(flavor: Flavor, flavors: Mapping[str, Flavor]) -> dict[str, Any]:
    kind = FlavorCondition.DEFAULT_CONFLICT
    others = sorted(
        name for name, f in flavors.items() if f.spec.default and name != flavor.metadata.name
    )
    if flavor.spec.default and others:
        message = f"also the default: {listed(others)}; set spec.default on one flavor only"
        return condition(kind, TRUE, "SeveralDefaults", message)
    reason = "OnlyDefault" if flavor.spec.default else "NotDefault"
    return condition(kind, FALSE, reason, "")


class Fit(NamedTuple):
    """Whether a flavor fits anywhere; if not, which limit binds."""

    schedulable: bool
    reason: str
    message: str


class Counts(NamedTuple):
    """How many pods of a flavor the cluster holds: were it empty, and beside what is there."""

    total: int
    free: int


def fit(flavor: Flavor, nodes: Sequence[NodeFacts]) -> Fit:
    """Whether some node fits, or what most nodes lack."""
    if not nodes:
        return Fit(schedulable=False, reason="NoNodes", message="the cluster has no nodes")
    needs = _needs(flavor)
    obstacles = [obstacle(needs, node) for node in nodes]
    if count := obstacles.count(""):
        message = f"{count} of {len(nodes)} nodes can hold a pod of this flavor"
        return Fit(schedulable=True, reason="Fits", message=message)
    told = Counter(obstacles).most_common()
    listed = "; ".join(f"{count} x {what}" for what, count in told[:5])
    return Fit(
        schedulable=False, reason="NoNodeFits", message=f"none of {len(nodes)} nodes fits: {listed}"
    )


def counts(flavor: Flavor, nodes: Sequence[NodeFacts], use: NodeUse) -> Counts:
    """How many pods of a flavor there is room for."""
    needs = _needs(flavor)
    return Counts(
        total=sum(room(needs, node) for node in nodes),
        free=sum(room(needs, node, use.of(node.name)) for node in nodes),
    )


def _needs(flavor: Flavor) -> Needs:
    spec = flavor.spec
    return Needs(
        effective_requests(spec.resources.requests, spec.resources.limits),
        spec.node_selector,
        spec.tolerations,
    )
