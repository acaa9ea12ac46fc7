"""Whether some node of the cluster could hold a pod of a flavor, and how many they hold."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.placing import (
    Needs,
    NodeFacts,
    Toleration,
    effective_requests,
    obstacle,
    room,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl_observer.flavors.model import Flavor
    from devctl_observer.flavors.node_use import NodeUse


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
        [Toleration(t.key, t.operator, t.value, t.effect) for t in spec.tolerations],
    )
