"""Pods that have a node, whoever they belong to: what each asks of it, and all of them together."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from lightkube.core.resource import ApiInfo, NamespacedResourceG, ResourceDef
from lightkube.operators import not_equal, not_in

from devctl.api.placing import PODS, effective_requests
from devctl_observer.kinds.flavors.model import Resources

PLACED: Mapping[str, Any] = {
    "fields": {"spec.nodeName": not_equal(""), "status.phase": not_in(["Succeeded", "Failed"])}
}
"""Those that take something of a node; what has ended leaves the watch as if it were deleted."""

_NONE = Decimal(0)
Amounts = tuple[tuple[str, Decimal], ...]


class Container(msgspec.Struct, rename="camel", frozen=True):
    """What a container asks for, and whether one that prepares goes on beside the others."""

    resources: Resources = Resources()
    restart_policy: str = ""


class PodSpec(msgspec.Struct, rename="camel", frozen=True):
    """All that the scheduler adds up."""

    node_name: str = ""
    containers: list[Container] = []
    init_containers: list[Container] = []
    resources: Resources = Resources()
    overhead: dict[str, str] = {}


class _Meta(msgspec.Struct):
    name: str
    namespace: str
    resourceVersion: str  # noqa: N815 - the library's name


class PlacedPod(NamespacedResourceG, msgspec.Struct):
    """A pod as it is decoded: in a big cluster most pods are nobody's of ours, and all are read.

    lightkube's own class would make an object of every field, which takes many times as long.
    """

    metadata: _Meta
    spec: PodSpec
    _api_info = ApiInfo(ResourceDef("", "v1", "Pod"), "pods", ["global_list", "global_watch"])


class Asked(NamedTuple):
    """What is kept of a pod: its node, and what it asks of it, by name."""

    node: str
    amounts: Amounts


def asked(pod: PlacedPod) -> Asked:
    """What is kept of a pod; those of a kind share it, so that ten thousand take little memory."""
    amounts = tuple(sorted(requests(pod.spec).items()))
    return Asked(sys.intern(pod.spec.node_name), _shared(amounts))


def requests(spec: PodSpec) -> dict[str, Decimal]:
    """What the scheduler counts for a pod.

    Its containers run at once; those that only prepare run before, and count where they need more.
    """
    total = {PODS: Decimal(1)}
    for container in spec.containers:
        total = _sum(total, _of(container.resources))
    # Those that go on beside the others count with them, from when they are started.
    beside: dict[str, Decimal] = {}
    peak: dict[str, Decimal] = {}
    for container in spec.init_containers:
        needs = _sum(beside, _of(container.resources))
        if container.restart_policy == "Always":
            beside = needs
        peak = _most(peak, needs)
    # What is asked for the pod as a whole stands instead of what its containers ask.
    total = _most(_sum(total, beside), peak) | _of(spec.resources)
    return _sum(total, effective_requests(spec.overhead, {}))


@lru_cache(maxsize=4096)
def _shared(amounts: Amounts) -> Amounts:
    """The first of its equals."""
    return amounts


def _of(resources: Resources) -> dict[str, Decimal]:
    return effective_requests(resources.requests, resources.limits)


def _sum(one: dict[str, Decimal], other: dict[str, Decimal]) -> dict[str, Decimal]:
    return {name: one.get(name, _NONE) + other.get(name, _NONE) for name in one | other}


def _most(one: dict[str, Decimal], other: dict[str, Decimal]) -> dict[str, Decimal]:
    return {name: max(one.get(name, _NONE), other.get(name, _NONE)) for name in one | other}


class NodeUse:
    """Sums by node, kept up with each pod: none is added up again, however many there are."""

    def __init__(self) -> None:
        """Begin with empty nodes."""
        self._sums: dict[str, dict[str, Decimal]] = {}

    def change(self, old: Asked | None, new: Asked | None) -> None:
        """Count a pod that came, went, or asks for something else."""
        if old:
            self._add(old, -1)
        if new:
            self._add(new, 1)

    def of(self, node: str) -> Mapping[str, Decimal]:
        """What is asked of a node."""
        return self._sums.get(node, {})

    def _add(self, asked: Asked, sign: int) -> None:
        sums = self._sums.setdefault(asked.node, {})
        for name, amount in asked.amounts:
            sums[name] = sums.get(name, _NONE) + sign * amount
        if not sums[PODS]:
            # A node that has gone would be remembered for ever.
            del self._sums[asked.node]
