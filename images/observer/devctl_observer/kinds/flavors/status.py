"""The whole status of a DevServerFlavor: whether a node can hold a pod of it, and how many fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol

from devctl.api.devserver import FlavorCondition
from devctl.api.messages import listed
from devctl.api.placing import Needs, NodeFacts, effective_requests, obstacle, room
from devctl_observer.judging.conditions import FALSE, TRUE, condition, merge
from devctl_observer.kinds.flavors.model import Flavor


class Use(Protocol):
    """What is used of nodes."""

    def of(self, node: str, /) -> Mapping[str, Decimal]:
        """What is used of one."""


def flavor_status(
    flavor: Flavor,
    flavors: Mapping[str, Flavor],
    nodes: Sequence[NodeFacts],
    use: Use,
    now: datetime,
) -> dict[str, Any]:
    """The desired status of a flavor."""
    fits = fit(flavor, nodes)
    total, free = counts(flavor, nodes, use)
    return {
        "schedulable": fits["status"] == TRUE,
        "total": total,
        "free": free,
        "conditions": merge([_default_conflict(flavor, flavors), fits], flavor, now),
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


def fit(flavor: Flavor, nodes: Sequence[NodeFacts]) -> dict[str, Any]:
    """The condition Schedulable: whether a node fits, or what most nodes lack."""
    kind = FlavorCondition.SCHEDULABLE
    if not nodes:
        return condition(kind, FALSE, "NoNodes", "the cluster has no nodes")
    needs = _needs(flavor)
    obstacles = [obstacle(needs, node) for node in nodes]
    if count := obstacles.count(""):
        message = f"{count} of {len(nodes)} nodes can hold a pod of this flavor"
        return condition(kind, TRUE, "Fits", message)
    told = "; ".join(f"{count} x {what}" for what, count in Counter(obstacles).most_common(5))
    return condition(kind, FALSE, "NoNodeFits", f"none of {len(nodes)} nodes fits: {told}")


def counts(flavor: Flavor, nodes: Sequence[NodeFacts], use: Use) -> tuple[int, int]:
    """How many pods of a flavor fit into the empty cluster, and how many more fit now."""
    needs = _needs(flavor)
    total = sum(room(needs, node) for node in nodes)
    return total, sum(room(needs, node, use.of(node.name)) for node in nodes)


def _needs(flavor: Flavor) -> Needs:
    spec = flavor.spec
    return Needs(
        effective_requests(spec.resources.requests, spec.resources.limits),
        spec.node_selector,
        spec.tolerations,
    )
