"""The family of DevServerFlavors, and how often free capacity is recomputed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prometheus_client import Gauge

from devctl.api.placing import NodeFacts
from devctl_observer.control.family import Family
from devctl_observer.control.figures import COMMON
from devctl_observer.control.process import Process
from devctl_observer.judging.devices import Claim
from devctl_observer.kinds.flavors.controller import FlavorController
from devctl_observer.kinds.flavors.model import Flavor
from devctl_observer.kinds.flavors.placed_pods import PLACED, Asked, NodeUse, PlacedPod, asked
from devctl_observer.watching.reflector import Followed
from devctl_observer.watching.store import Key, Store

_COUNTED = 5.0
"""Seconds between recomputations of free capacity: each may write the status of all flavors."""
_PLACED_PODS = Gauge(
    "placed_pods", "All pods that occupy resources on nodes, devctl's or not.", **COMMON
)


class Flavors(Family[Flavor]):
    """The family of DevServerFlavors."""

    controller: FlavorController

    def __init__(self, process: Process) -> None:
        """Start without any state."""
        self.use = NodeUse()
        self.placed: Store[Asked] = Store()
        super().__init__(FlavorController(self.use, process), workers=1)
        _PLACED_PODS.set_function(lambda: len(self.placed))
        self.teams: Callable[[], None] = lambda: None
        """Told of each change that may concern teams."""
        self.policies: Callable[[], None] = lambda: None
        """Told of each change that may concern LifecyclePolicies."""
        self._count = Pace(self.look_again, _COUNTED)
        process.children.devices.listeners.append(self._devices)

    @property
    def others(self) -> Sequence[Followed]:
        """All pods that occupy resources on nodes."""
        return [Followed(PlacedPod, self.placed, asked, self._placed, selectors=PLACED)]

    def changed(self, old: Flavor | None, new: Flavor | None) -> None:
        """Reconcile a changed flavor, and all others if the change concerns the default."""
        flavor = new or old
        if flavor is None:
            return
        if old is None or new is None or _version(old) != _version(new):
            self.controller.concerns(flavor.metadata.name)
            self.teams()
            self.policies()
        if old is None or new is None or old.spec.default != new.spec.default:
            self.look_again()
        else:
            self.queue.add(Key("", flavor.metadata.name))

    def node(self, old: NodeFacts | None, new: NodeFacts | None) -> None:  # noqa: ARG002 - any change may matter
        """Reconcile every flavor."""
        self.look_again()

    def _devices(self, _old: Claim | None, _new: Claim | None) -> None:
        """Count again what nodes offer by claim."""
        self._count.wish()

    def _placed(self, old: Asked | None, new: Asked | None) -> None:
        self.use.change(old, new)
        self._count.wish()


def _version(flavor: Flavor) -> tuple[str, int]:
    """A value that changes only with the flavor's spec."""
    return flavor.metadata.uid, flavor.metadata.generation


@dataclass
class Pace:
    """Limits how often an action runs, however often it is requested."""

    action: Callable[[], None]
    seconds: float
    """Minimum seconds between two runs."""
    _not_before: float = 0.0
    _waits: bool = False

    def wish(self) -> None:
        """Request a run: now if the last one is long enough ago, else as soon as that is so."""
        if not self._waits:
            self._waits = True
            loop = asyncio.get_running_loop()
            loop.call_at(max(loop.time(), self._not_before), self._act)

    def _act(self) -> None:
        self._waits = False
        self._not_before = asyncio.get_running_loop().time() + self.seconds
        self.action()
