"""What a GPU costs on a node, as far as flavors say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from devctl.api.placing import NodeFacts, effective_requests
from devctl.api.prices import MICRO, NO_PRICE, Price
from devctl.api.quantities import gpus_in
from devctl_observer.kinds.flavors.model import Flavor


def gpu_prices(nodes: Iterable[NodeFacts], flavors: Iterable[Flavor]) -> Mapping[str, float]:
    """The price of a GPU and hour on each node.

    Prices in several currencies cannot be compared: then no node has one.
    """
    known = list(flavors)
    if len({flavor.price.currency for flavor in known if _is_priced(flavor)}) != 1:
        return {}
    found = {node.name: priced_by(node, known) for node in nodes}
    return {
        name: gpu_price(flavor).per_gpu_hour / MICRO
        for name, flavor in found.items()
        if flavor and _is_priced(flavor)
    }


def priced_by(node: NodeFacts, flavors: Iterable[Flavor]) -> Flavor | None:
    """The flavor that says what a GPU of a node costs: of those that select it, the cheapest.

    If none has a price, it is the first one, which may get one. None if there is no flavor, or
    several currencies.
    """
    here = [flavor for flavor in flavors if _gpus(flavor) and _selects(flavor, node)]
    priced = [flavor for flavor in here if _is_priced(flavor)]
    if len({flavor.price.currency for flavor in priced}) > 1:
        return None
    return min(priced or here, key=lambda f: (gpu_price(f), f.metadata.name), default=None)


def gpu_price(flavor: Flavor) -> Price:
    """The price of one GPU, with its share of what the pod costs, to the nearest millionth."""
    gpus, price = _gpus(flavor), flavor.price
    if not gpus or not price.currency:
        return NO_PRICE
    return Price(0, price.per_gpu_hour + (price.per_hour + gpus // 2) // gpus, price.currency)


def _is_priced(flavor: Flavor) -> bool:
    return bool(gpu_price(flavor).currency)


def _gpus(flavor: Flavor) -> int:
    given = flavor.spec.resources
    return gpus_in(effective_requests(given.requests, given.limits))


def _selects(flavor: Flavor, node: NodeFacts) -> bool:
    return flavor.spec.node_selector.items() <= dict(node.labels).items()
