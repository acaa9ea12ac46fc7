"""A DevServerFlavor, as far as the observer reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from lightkube.generic_resource import create_global_resource

from devctl.api.flavors import choose, pod_part
from devctl.api.labels import GROUP, VERSION
from devctl_observer.control.kind import Kind
from devctl_observer.judging.model import Base, Meta

if TYPE_CHECKING:
    from collections.abc import Mapping

DevServerFlavor = create_global_resource(GROUP, VERSION, "DevServerFlavor", "devserverflavors")


class Resources(Base, frozen=True):
    """Quantities as they were written: numbers or text."""

    requests: dict[str, int | float | str] = msgspec.field(default_factory=dict)
    limits: dict[str, int | float | str] = msgspec.field(default_factory=dict)


class Toleration(Base, frozen=True):
    """A taint that pods of the flavor put up with."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class FlavorSpec(Base, frozen=True):
    """What servers of the flavor run on."""

    resources: Resources = Resources()
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    tolerations: list[Toleration] = msgspec.field(default_factory=list)
    default: bool = False


class Flavor(Base, frozen=True):
    """A DevServerFlavor."""

    metadata: Meta
    spec: FlavorSpec = FlavorSpec()
    status: dict[str, Any] = msgspec.field(default_factory=dict)
    pod_spec: dict[str, Any] = msgspec.field(default_factory=dict)
    """The spec as it is stored, but for whether it is the default: that says nothing about pods."""


def parse_flavor(obj: Mapping[str, Any]) -> Flavor:
    """A DevServerFlavor from the API's JSON."""
    flavor = msgspec.convert(obj, Flavor)
    return msgspec.structs.replace(flavor, pod_spec=pod_part(obj.get("spec", {})))


FLAVOR = Kind(DevServerFlavor, parse_flavor)


def wanted_flavor(name: str | None, flavors: Mapping[str, Flavor]) -> tuple[Flavor | None, str]:
    """The flavor of that name, or the default one; else why there is none."""
    choice = choose(name, {key: flavor.spec.default for key, flavor in flavors.items()})
    return flavors.get(choice.name), choice.problem
