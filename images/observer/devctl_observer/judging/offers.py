"""GPUs that pods request as a resource, and get by a claim that the scheduler makes for them.

No node lists them: they are the devices of a DeviceClass that names the resource.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

from devctl.api.placing import NodeFacts
from devctl.api.quantities import parse_quantity
from devctl.api.vllm_run import DRIVER
from devctl_observer.judging.devices import Claim, Gpu, NamedResource

Amounts = Mapping[str, Decimal]


class Offer(NamedTuple):
    """The GPUs of a node."""

    total: int
    taken: int
    """How many a new claim does not get: another one holds them, or their driver withdraws them."""


NONE = Offer(0, 0)


def offers(gpus: Iterable[Gpu], claims: Iterable[Claim]) -> Mapping[str, Offer]:
    """What nodes offer, by node; a GPU that several claims hold counts once."""
    known = list(gpus)
    held = {
        (each.node, each.device) for one in claims for each in one.held if each.driver == DRIVER
    }
    taken = (gpu.node for gpu in known if gpu.unhealthy or (gpu.node, gpu.device) in held)
    totals, gone = Counter(gpu.node for gpu in known), Counter(taken)
    return {node: Offer(total, gone[node]) for node, total in totals.items()}


def resources_of(classes: Iterable[NamedResource]) -> frozenset[str]:
    """The resources by which a pod can request any of these GPUs."""
    return frozenset(each.resource for each in classes if each.resource and each.driver == DRIVER)


def by_claim(node: NodeFacts, resources: Collection[str]) -> frozenset[str]:
    """The resources for which the scheduler makes claims on a node.

    Where a device plugin lists a resource, the scheduler takes it from there.
    """
    listed = {name for name, amount in node.allocatable if parse_quantity(amount)}
    return frozenset(resources) - listed


def with_offer(node: NodeFacts, resources: Collection[str], offer: Offer) -> NodeFacts:
    """A node as if it listed what it offers by claim."""
    names = by_claim(node, resources) if offer.total else frozenset()
    if not names:
        return node
    listed = dict(node.allocatable) | dict.fromkeys(names, str(offer.total))
    return replace(node, allocatable=tuple(sorted(listed.items())))


def with_taken(used: Amounts, names: Collection[str], offer: Offer) -> Amounts:
    """What is used of a node, with what is taken of its offer in place of what pods request."""
    return {**used, **dict.fromkeys(names, Decimal(offer.taken))} if names else used
