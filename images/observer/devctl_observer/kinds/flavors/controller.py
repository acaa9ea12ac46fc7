"""Reconciles a flavor."""

from __future__ import annotations

from collections.abc import Callable

from devctl.api.devserver import FlavorCondition
from devctl_observer.control.controller import Controller
from devctl_observer.control.process import Process
from devctl_observer.kinds.flavors.capacity import Capacity
from devctl_observer.kinds.flavors.model import FLAVOR, Flavor
from devctl_observer.kinds.flavors.placed_pods import NodeUse
from devctl_observer.kinds.flavors.status import flavor_status
from devctl_observer.watching.store import Key, Store


class FlavorController(Controller[Flavor]):
    """Handles the work queue of flavors."""

    word = "flavor"
    own = tuple(FlavorCondition)

    def __init__(self, use: NodeUse, process: Process) -> None:
        """Start without any state."""
        super().__init__(FLAVOR, Store(), process)
        children = process.children
        self._capacity = Capacity(children.nodes, use, children.devices)
        self.concerns: Callable[[str], None] = lambda _: None
        """Called with the name of each flavor whose change concerns its servers."""

    async def _look(self, key: Key, item: Flavor) -> None:
        by_name = {flavor.metadata.name: flavor for flavor in self.store}
        capacity = self._capacity
        wanted = flavor_status(item, by_name, capacity.nodes, capacity, self._clock.now())
        written = await self._write(key, item, wanted)
        if written.status.get("schedulable") != item.status.get("schedulable"):
            self.concerns(key.name)
