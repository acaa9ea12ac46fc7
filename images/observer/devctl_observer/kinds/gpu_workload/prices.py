"""What a GPU costs on a node, as far as flavors say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from devctl.api.placing import NodeFacts, effective_requests
from devctl.api.prices import MICRO
from devctl.api.quantities import GPU
from devctl_observer.kinds.flavors.model import Flavor


def gpu_prices(nodes: Iterable[NodeFacts], flavors: Iterable[Flavor]) -> Mapping[str, float]:
    """The lowest price of a GPU and hour on each node, of the flavors that select the node.

    Prices in several currencies cannot be compared: then no node has one.
    """
    priced = [flavor for flavor in flavors if flavor.price.currency and _gpus(flavor)]
    if len({flavor.price.currency for flavor in priced}) != 1:
        return {}
    found: dict[str, float] = {}
    for node in nodes:
        prices = [_price(flavor) for flavor in priced if _selects(flavor, node)]
        if prices:
            found[node.name] = min(prices)
    return found


def _gpus(flavor: Flavor) -> int:
    given = flavor.spec.resources
    return int(effective_requests(given.requests, given.limits).get(GPU, 0))


def _price(flavor: Flavor) -> float:
    """Of one GPU, with its share of what the pod costs."""
    return (flavor.price.per_gpu_hour + flavor.price.per_hour / _gpus(flavor)) / MICRO


def _selects(flavor: Flavor, node: NodeFacts) -> bool:
    return flavor.spec.node_selector.items() <= dict(node.labels).items()
