"""The whole status of a DevServerFlavor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.api.devserver import FlavorCondition
from devctl.api.flavors import listed
from devctl_observer.flavors.fit import counts, fit
from devctl_observer.judging.conditions import FALSE, TRUE, condition, merge, word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from devctl.api.placing import NodeFacts
    from devctl_observer.flavors.model import Flavor
    from devctl_observer.flavors.node_use import NodeUse


def flavor_status(
    flavor: Flavor,
    flavors: Mapping[str, Flavor],
    nodes: Sequence[NodeFacts],
    use: NodeUse,
    now: datetime,
) -> dict[str, Any]:
    """What status should say about a flavor."""
    found = fit(flavor, nodes)
    wanted = [
        _default_conflict(flavor, flavors),
        condition(
            FlavorCondition.SCHEDULABLE, word(found.schedulable), found.reason, found.message
        ),
    ]
    observed = flavor.status.get("conditions", [])
    return {
        "schedulable": found.schedulable,
        **counts(flavor, nodes, use)._asdict(),
        "conditions": merge(wanted, observed, flavor.metadata.generation, now),
    }


def _default_conflict(flavor: Flavor, flavors: Mapping[str, Flavor]) -> dict[str, Any]:
    kind = FlavorCondition.DEFAULT_CONFLICT
    others = sorted(
        name for name, f in flavors.items() if f.spec.default and name != flavor.metadata.name
    )
    if flavor.spec.default and others:
        message = f"also the default: {listed(others)}; set spec.default on one flavor only"
        return condition(kind, TRUE, "SeveralDefaults", message)
    reason = "OnlyDefault" if flavor.spec.default else "NotDefault"
    return condition(kind, FALSE, reason, "")
