"""All scheduled pods, devctl's or not: what each requests, and the sum per node."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import msgspec
from lightkube.core.resource import ApiInfo, NamespacedResourceG, ResourceDef
from lightkube.operators import not_equal, not_in

from devctl.api.placing import PODS, effective_requests
from devctl.api.pod_requests import added_up, plus
from devctl_observer.kinds.flavors.model import Resources

PLACED: Mapping[str, Any] = {
    "fields": {"spec.nodeName": not_equal(""), "status.phase": not_in(["Succeeded", "Failed"])}
}
"""Selects pods that occupy a node; the watch reports an ended pod as deleted."""

_NONE = Decimal(0)
Amounts = tuple[tuple[str, Decimal], ...]


class Container(msgspec.Struct, rename="camel", frozen=True):
    """What a container requests, and whether an init container is a sidecar."""

    resources: Resources = Resources()
    restart_policy: str = ""


class PodSpec(msgspec.Struct, rename="camel", frozen=True):
    """Everything that the scheduler adds up."""

    node_name: str = ""
    containers: list[Container] = []
    init_containers: list[Container] = []
    resources: Resources = Resources()
    overhead: dict[str, str] = {}
    priority: int | None = None
    """None without a PriorityClass and a default one; it counts as 0."""


class _Meta(msgspec.Struct):
    name: str
    namespace: str
    resourceVersion: str  # noqa: N815 - the library's name


class PlacedPod(NamespacedResourceG, msgspec.Struct):
    """The decoded part of a pod: a big cluster has many, mostly not ours, and all are read.

    lightkube's own class would create an object for every field, which is many times slower.
    """

    metadata: _Meta
    spec: PodSpec
    _api_info = ApiInfo(ResourceDef("", "v1", "Pod"), "pods", ["global_list", "global_watch"])


class Asked(NamedTuple):
    """What is stored of a pod: its node, its requests by resource name, and its priority."""

    node: str
    amounts: Amounts
    priority: int = 0


def asked(pod: PlacedPod) -> Asked:
    """What is stored of a pod; equal requests are shared, to save memory with many pods."""
    amounts = tuple(sorted(requests(pod.spec).items()))
    return Asked(sys.intern(pod.spec.node_name), _shared(amounts), pod.spec.priority or 0)


def requests(spec: PodSpec) -> dict[str, Decimal]:
    """What the scheduler counts for a pod."""
    main = [_of(container.resources) for container in spec.containers]
    return added_up(
        [{PODS: Decimal(1)}, *main],
        ((_of(each.resources), each.restart_policy) for each in spec.init_containers),
        whole=_of(spec.resources),
        overhead=effective_requests(spec.overhead, {}),
    )


@lru_cache(maxsize=4096)
def _shared(amounts: Amounts) -> Amounts:
    """The first instance among equal ones."""
    return amounts


def _of(resources: Resources) -> dict[str, Decimal]:
    return effective_requests(resources.requests, resources.limits)


class NodeUse:
    """The sum of requests per node, updated incrementally with each pod."""

    def __init__(self) -> None:
        """Start with empty nodes."""
        self._sums: dict[str, dict[str, Decimal]] = {}
        self._of_priority: dict[str, dict[int, dict[str, Decimal]]] = {}

    def change(self, old: Asked | None, new: Asked | None) -> None:
        """Count a pod that was added, removed or changed."""
        if old:
            self._add(old, -1)
        if new:
            self._add(new, 1)

    def of(self, node: str) -> Mapping[str, Decimal]:
        """The sum of requests on a node."""
        return self._sums.get(node, {})

    def below(self, node: str, priority: int) -> Mapping[str, Decimal]:
        """The sum of requests on a node by pods of a lower priority."""
        found = self._of_priority.get(node, {})
        lower = (sums for level, sums in found.items() if level < priority)
        return reduce(plus, lower, dict[str, Decimal]())

    def _add(self, asked: Asked, sign: int) -> None:
        levels = self._of_priority.setdefault(asked.node, {})
        # What is not used any more would be remembered forever.
        if _counted(levels, asked.priority, asked.amounts, sign) and not levels:
            del self._of_priority[asked.node]
        _counted(self._sums, asked.node, asked.amounts, sign)


def _counted(sums: dict[Any, dict[str, Decimal]], key: Any, amounts: Amounts, sign: int) -> bool:
    """Add amounts to a sum; returns whether it counts no pods any more, and is removed."""
    found = sums.setdefault(key, {})
    for name, amount in amounts:
        found[name] = found.get(name, _NONE) + sign * amount
    if found[PODS]:
        return False
    del sums[key]
    return True
