"""The family of LifecyclePolicies: a change of one, or of a flavor, may concern all of them."""

from __future__ import annotations

from devctl_observer.control.controller import Controller
from devctl_observer.control.family import Family
from devctl_observer.control.process import Process
from devctl_observer.kinds.flavors.family import Flavors
from devctl_observer.kinds.flavors.model import Flavor
from devctl_observer.kinds.policies.model import KIND, Policy
from devctl_observer.kinds.policies.status import OWN, policy_status
from devctl_observer.watching.store import Key, Store


class PolicyController(Controller[Policy]):
    """Handles the work queue of policies."""

    word = "lifecyclepolicy"
    own = OWN

    def __init__(self, flavors: Store[Flavor], process: Process) -> None:
        """Start without any state."""
        super().__init__(KIND, Store(), process)
        self._flavors = flavors

    async def _look(self, key: Key, item: Policy) -> None:
        flavors = {flavor.metadata.name: flavor for flavor in self._flavors}
        wanted = policy_status(item, self.store, flavors, self._clock.now())
        await self._write(key, item, wanted)


class Policies(Family[Policy]):
    """The family of LifecyclePolicies."""

    def __init__(self, flavors: Flavors, process: Process) -> None:
        """Start without any state."""
        super().__init__(PolicyController(flavors.store, process), workers=1)
        flavors.policies = self.look_again

    def changed(self, old: Policy | None, new: Policy | None) -> None:
        """Reconcile a changed policy, and all others if its spec has changed."""
        super().changed(old, new)
        if old is None or new is None or old.metadata.generation != new.metadata.generation:
            self.look_again()
