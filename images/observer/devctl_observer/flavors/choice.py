"""The flavor that a server gets, among those that were observed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.api.flavors import choose

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl_observer.flavors.model import Flavor


def wanted_flavor(name: str | None, flavors: Mapping[str, Flavor]) -> tuple[Flavor | None, str]:
    """The flavor of that name, or the default one; else why there is none."""
    choice = choose(name, {key: flavor.spec.default for key, flavor in flavors.items()})
    return flavors.get(choice.name), choice.problem
