"""The family of DevServerFlavors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import Gauge

from devctl_observer.control.family import Family
from devctl_observer.control.figures import COMMON
from devctl_observer.control.pace import Pace
from devctl_observer.flavors.controller import FlavorController
from devctl_observer.flavors.model import Flavor
from devctl_observer.flavors.node_use import NodeUse
from devctl_observer.flavors.placed_pods import PLACED, PlacedPod, asked
from devctl_observer.watching.reflector import Followed
from devctl_observer.watching.store import Key, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from devctl.api.placing import NodeFacts
    from devctl_observer.control.process import Process
    from devctl_observer.flavors.placed_pods import Asked

_COUNTED = 5.0
"""Seconds between two counts of what is free while pods come and go: each may write all flavors."""
_PLACED_PODS = Gauge("placed_pods", "Pods of anybody that take room on nodes.", **COMMON)


class Flavors(Family[Flavor]):
    """Whom a change concerns among flavors."""

    def __init__(self, process: Process) -> None:
        """Know nothing yet."""
        self.use = NodeUse()
        self.placed: Store[Asked] = Store()
        controller = FlavorController(self.use, process)
        super().__init__(controller, workers=1)
        _PLACED_PODS.set_function(lambda: len(self.placed))
        controller.fits = self._tell
        self._count = Pace(self.look_again, _COUNTED)
        self._listeners: list[Callable[[str], None]] = []

    def listen(self, changed: Callable[[str], None]) -> None:
        """Have the name of each flavor told that has changed for its servers."""
        self._listeners.append(changed)

    @property
    def others(self) -> Sequence[Followed]:
        """Whatever takes room on nodes."""
        return [Followed(PlacedPod, self.placed, asked, self._placed, selectors=PLACED)]

    def changed(self, old: Flavor | None, new: Flavor | None) -> None:
        """Look at a flavor, and at the others where it is about which of them is the default."""
        flavor = new or old
        if flavor is None:
            return
        if old is None or new is None or _version(old) != _version(new):
            self._tell(flavor.metadata.name)
        if old is None or new is None or old.spec.default != new.spec.default:
            self.look_again()
        else:
            self.queue.add(Key("", flavor.metadata.name))

    def node(self, old: NodeFacts | None, new: NodeFacts | None) -> None:  # noqa: ARG002 - any change may decide
        """Look at every flavor."""
        self.look_again()

    def _tell(self, name: str) -> None:
        for changed in self._listeners:
            changed(name)

    def _placed(self, old: Asked | None, new: Asked | None) -> None:
        self.use.change(old, new)
        self._count.wish()


def _version(flavor: Flavor) -> tuple[str, int]:
    """What moves with a flavor's spec, and with nothing else."""
    return flavor.metadata.uid, flavor.metadata.generation
