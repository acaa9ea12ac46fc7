"""Whether some node of the cluster could hold a pod of a flavor, were it empty."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from lightkube.utils.quantity import parse_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lightkube.models.core_v1 import Node

    from devctl_observer.model import Flavor, Toleration

Taints = tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class NodeFacts:
    """What decides about placing, so that a heartbeat alone changes nothing."""

    name: str
    ready: bool
    cordoned: bool
    labels: tuple[tuple[str, str], ...]
    taints: Taints
    allocatable: tuple[tuple[str, str], ...]


class Fit(NamedTuple):
    """Whether a flavor fits anywhere; if not, which limit binds."""

    schedulable: bool
    reason: str
    message: str


def node_facts(node: Node) -> NodeFacts:
    """What is remembered of a node."""
    metadata, spec, status = node.metadata, node.spec, node.status
    conditions = {c.type: c.status for c in (status.conditions if status else None) or []}
    taints = (spec.taints if spec else None) or []
    return NodeFacts(
        name=(metadata.name if metadata else None) or "",
        ready=conditions.get("Ready") == "True",
        cordoned=bool(spec and spec.unschedulable),
        labels=tuple(sorted(((metadata.labels if metadata else None) or {}).items())),
        taints=tuple((t.key, t.value or "", t.effect) for t in taints),
        allocatable=tuple(sorted(((status.allocatable if status else None) or {}).items())),
    )


def fit(flavor: Flavor, nodes: Sequence[NodeFacts]) -> Fit:
    """Whether some node fits, or what most nodes lack."""
    if not nodes:
        return Fit(schedulable=False, reason="NoNodes", message="the cluster has no nodes")
    obstacles = [_obstacle(flavor, node) for node in nodes]
    if count := obstacles.count(""):
        message = f"{count} of {len(nodes)} nodes can hold a pod of this flavor"
        return Fit(schedulable=True, reason="Fits", message=message)
    told = Counter(obstacles).most_common()
    listed = "; ".join(f"{count} x {what}" for what, count in told[:5])
    return Fit(
        schedulable=False, reason="NoNodeFits", message=f"none of {len(nodes)} nodes fits: {listed}"
    )


def _obstacle(flavor: Flavor, node: NodeFacts) -> str:
    """The first thing that keeps a flavor's pods off a node."""
    labels = dict(node.labels)
    for key, value in sorted(flavor.spec.node_selector.items()):
        if labels.get(key) != value:
            return f"no label {key}={value}"
    if not node.ready:
        return "not ready"
    if node.cordoned and not _tolerates(flavor.spec.tolerations, _CORDON):
        return "cordoned"
    for taint in node.taints:
        if taint[2] != "PreferNoSchedule" and not _tolerates(flavor.spec.tolerations, taint):
            key, value, effect = taint
            return f"taint {key}={value}:{effect}" if value else f"taint {key}:{effect}"
    return _too_small(requests(flavor), dict(node.allocatable))


_CORDON = ("node.kubernetes.io/unschedulable", "", "NoSchedule")


def _too_small(wanted: Mapping[str, Decimal], allocatable: Mapping[str, str]) -> str:
    for name, amount in sorted(wanted.items()):
        has = _number(allocatable.get(name, 0))
        if amount > has:
            short = f"{name} {_plain(amount)} wanted, {_plain(has)} there"
            return short if name in allocatable else f"no {name}"
    return ""


def requests(flavor: Flavor) -> dict[str, Decimal]:
    """What each pod asks for; as in Kubernetes, a limit alone is a request, too."""
    resources = flavor.spec.resources
    return {name: _number(v) for name, v in {**resources.limits, **resources.requests}.items()}


def _tolerates(tolerations: Iterable[Toleration], taint: tuple[str, str, str]) -> bool:
    key, value, effect = taint
    return any(
        t.effect in {"", effect}
        and (t.key == key or (not t.key and t.operator == "Exists"))
        and (t.operator == "Exists" or t.value == value)
        for t in tolerations
    )


def _number(value: float | str) -> Decimal:
    return parse_quantity(str(value)) or Decimal(0)


def _plain(value: Decimal) -> str:
    return f"{value.normalize():f}"
