"""Which nodes could hold a pod of a flavor, and how many of them.

The observer reports with it whether a flavor can be used, and how much is free.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.quantities import parse_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PODS = "pods"
"""The resource of which each pod takes one."""


class Taint(NamedTuple):
    """What keeps pods off a node unless they tolerate it."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class Toleration:
    """A taint that pods tolerate."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True)
class NodeFacts:
    """What scheduling depends on; a heartbeat does not change it."""

    name: str
    ready: bool
    cordoned: bool
    labels: tuple[tuple[str, str], ...]
    taints: tuple[Taint, ...]
    allocatable: tuple[tuple[str, str], ...]
    uid: str = ""
    images: frozenset[str] = field(default=frozenset(), compare=False)
    """Whole names of images that it has, as far as it lists them. A strategy may prefer a node for
    them, and nothing else depends on them: a change alone is no news."""


@dataclass(frozen=True)
class Needs:
    """What a flavor requires of the node of each pod."""

    requests: Mapping[str, Decimal] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Toleration] = ()


def with_limits(
    requests: Mapping[str, float | str], limits: Mapping[str, float | str]
) -> dict[str, float | str]:
    """What a container requests, as written; as in Kubernetes, a limit alone is a request, too."""
    return {**limits, **requests}


def effective_requests(
    requests: Mapping[str, float | str], limits: Mapping[str, float | str]
) -> dict[str, Decimal]:
    """The amounts of the same.

    >>> effective_requests({"cpu": 1}, {"cpu": 2, "memory": "1Ki"})
    {'cpu': Decimal('1'), 'memory': Decimal('1024')}
    """
    return {name: parse_quantity(value) for name, value in with_limits(requests, limits).items()}


def obstacle(needs: Needs, node: NodeFacts) -> str:
    """The first thing that keeps a pod off an empty node, or an empty text."""
    labels = dict(node.labels)
    for key, value in sorted(needs.node_selector.items()):
        if labels.get(key) != value:
            return f"no label {key}={value}"
    return closed(needs.tolerations, node) or _too_small(needs.requests, dict(node.allocatable))


def closed(tolerations: Sequence[Toleration], node: NodeFacts) -> str:
    """Why no new pod comes to a node, however little it needs, or an empty text.

    >>> closed((), NodeFacts("a", True, True, (), (), ()))
    'cordoned'
    """
    if not node.ready:
        return "not ready"
    if node.cordoned and not _tolerates(tolerations, _CORDON):
        return "cordoned"
    for taint in node.taints:
        if taint.effect != "PreferNoSchedule" and not _tolerates(tolerations, taint):
            value = f"={taint.value}" if taint.value else ""
            return f"taint {taint.key}{value}:{taint.effect}"
    return ""


def room(needs: Needs, node: NodeFacts, used: Mapping[str, Decimal] | None = None) -> int:
    """How many more pods fit on a node.

    >>> node = NodeFacts("a", True, False, (), (), (("cpu", "4"), ("pods", "110")))
    >>> room(Needs({"cpu": Decimal("1.5")}), node)
    2
    """
    if obstacle(needs, node):
        return 0
    has, taken = dict(node.allocatable), used or {}
    wanted = {PODS: Decimal(1), **{name: need for name, need in needs.requests.items() if need}}
    counts = [
        (parse_quantity(has[name]) - taken.get(name, Decimal(0))) // need
        for name, need in wanted.items()
        if name in has
    ]
    return max(0, int(min(counts, default=Decimal(0))))


_CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


def _too_small(wanted: Mapping[str, Decimal], allocatable: Mapping[str, str]) -> str:
    for name, amount in sorted(wanted.items()):
        has = parse_quantity(allocatable.get(name, "0"))
        if amount > has:
            short = f"{name} {_plain(amount)} wanted, {_plain(has)} there"
            return short if name in allocatable else f"no {name}"
    return ""


def _tolerates(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    return any(
        t.effect in {"", taint.effect}
        and (t.key == taint.key or (not t.key and t.operator == "Exists"))
        and (t.operator == "Exists" or t.value == taint.value)
        for t in tolerations
    )


def _plain(value: Decimal) -> str:
    return f"{value.normalize():f}"
