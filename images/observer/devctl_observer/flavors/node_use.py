"""How much of each node is asked for by the pods on it."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from devctl.api.placing import PODS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl_observer.flavors.placed_pods import Asked


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
            sums[name] = sums.get(name, Decimal(0)) + sign * amount
        if not sums[PODS]:
            # A node that has gone would be remembered for ever.
            del self._sums[asked.node]
