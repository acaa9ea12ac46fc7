"""The parts of a DevServerFlavor that the observer reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from devctl.api import kinds
from devctl.api.flavors import Offer, choose, pod_part
from devctl.api.placing import Toleration
from devctl.api.prices import NO_PRICE, Price, read_price
from devctl_observer.control.kind import kind_of
from devctl_observer.judging.model import Base, Item


class Resources(Base, frozen=True):
    """Quantities as written: numbers or strings."""

    requests: dict[str, int | float | str] = msgspec.field(default_factory=dict)
    limits: dict[str, int | float | str] = msgspec.field(default_factory=dict)


class FlavorSpec(Base, frozen=True):
    """What the flavor's servers run on."""

    resources: Resources = Resources()
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    tolerations: list[Toleration] = msgspec.field(default_factory=list)
    default: bool = False
    preemptible: bool = False
    cordoned: bool = False


class Flavor(Item, frozen=True):
    """A DevServerFlavor."""

    spec: FlavorSpec = FlavorSpec()
    pod_spec: dict[str, Any] = msgspec.field(default_factory=dict)
    """The part of the stored spec that affects pods."""
    price: Price = NO_PRICE


def _more(obj: Mapping[str, Any]) -> dict[str, Any]:
    spec = obj.get("spec", {})
    return {"pod_spec": pod_part(spec), "price": read_price(spec.get("price"))}


FLAVOR = kind_of(kinds.FLAVOR, Flavor, _more)


def wanted_flavor(
    name: str | None, flavors: Mapping[str, Flavor], *, had: str = "", applied: bool
) -> tuple[Flavor | None, str]:
    """The flavor that a server gets, or why there is none; see devctl.api.flavors.choose."""
    offers = {
        key: Offer(flavor.spec.default, flavor.spec.cordoned) for key, flavor in flavors.items()
    }
    choice = choose(name, offers, had=had, applied=applied)
    return flavors.get(choice.name), choice.problem
