"""What is done about one flavor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.api.devserver import FlavorCondition
from devctl_observer.control.controller import Controller
from devctl_observer.flavors.model import FLAVOR, Flavor
from devctl_observer.flavors.status import flavor_status
from devctl_observer.watching.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl.api.placing import NodeFacts
    from devctl_observer.control.clock import Clock
    from devctl_observer.control.cluster_api import ClusterApi
    from devctl_observer.flavors.node_use import NodeUse
    from devctl_observer.watching.store import Key


class FlavorController(Controller[Flavor]):
    """Handler of the work queue of flavors.

    Args:
        nodes: What they may fit.
        use: What is asked of each node.
        api: What can be changed.
        clock: What time it is.
    """

    own = tuple(FlavorCondition)

    def __init__(
        self, nodes: Store[NodeFacts], use: NodeUse, api: ClusterApi, clock: Clock
    ) -> None:
        """Count from zero."""
        super().__init__(FLAVOR, Store(), api, clock)
        self._nodes, self._use = nodes, use
        self.fits: Callable[[str], None] = lambda _: None
        """Told the name of each flavor of which it changes whether any node fits it."""

    async def _look(self, key: Key, item: Flavor) -> None:
        by_name = {flavor.metadata.name: flavor for flavor in self.store}
        wanted = flavor_status(item, by_name, list(self._nodes), self._use, self._clock.now())
        written = await self._write(key, item, wanted)
        if written.status.get("schedulable") != item.status.get("schedulable"):
            self.fits(key.name)
