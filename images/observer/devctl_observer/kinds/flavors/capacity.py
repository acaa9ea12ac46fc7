"""What nodes have and what is used of it, with the GPUs that they offer by claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from devctl.api.placing import NodeFacts
from devctl_observer.judging.offers import by_claim, with_offer, with_taken
from devctl_observer.kinds.flavors.placed_pods import NodeUse
from devctl_observer.watching.devices import Devices
from devctl_observer.watching.store import Key, Store


class Capacity:
    """The capacity of all nodes, as it is when asked."""

    def __init__(self, nodes: Store[NodeFacts], use: NodeUse, devices: Devices) -> None:
        """Count when asked."""
        self._nodes, self._use, self._devices = nodes, use, devices

    @property
    def nodes(self) -> Sequence[NodeFacts]:
        """All nodes, as if they listed what they offer by claim."""
        devices, resources = self._devices, self._devices.resources
        return [with_offer(node, resources, devices.offer(node.name)) for node in self._nodes]

    def of(self, node: str) -> Mapping[str, Decimal]:
        """What is used of a node."""
        return with_taken(self._use.of(node), self.claimed(node), self._devices.offer(node))

    def below(self, node: str, priority: int) -> Mapping[str, Decimal]:
        """What pods of a lower priority would give back.

        Nothing that they have by claim: kube-scheduler replaces no pod for a device.
        """
        claimed = self.claimed(node)
        found = self._use.below(node, priority)
        return {name: amount for name, amount in found.items() if name not in claimed}

    def claimed(self, node: str) -> frozenset[str]:
        """The resources of a node that pods get by claim."""
        found = self._nodes.get(Key("", node))
        if found is None or not self._devices.offer(node).total:
            return frozenset()
        return by_claim(found, self._devices.resources)
