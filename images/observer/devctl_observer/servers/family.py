"""The family of DevServers and their flavors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightkube.resources.apps_v1 import StatefulSet

from devctl.api.labels import MANAGED_BY, MANAGER
from devctl_observer import kinds
from devctl_observer.caches import Caches, server_of_warning
from devctl_observer.children import server_of
from devctl_observer.controllers import Controllers
from devctl_observer.family import Followed
from devctl_observer.model import parse_flavor, parse_server
from devctl_observer.pace import Pace
from devctl_observer.placed_pods import PLACED, PlacedPod, asked
from devctl_observer.store import Key
from devctl_observer.work_queue import WorkQueue

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightkube.resources.core_v1 import Event

    from devctl.api.placing import NodeFacts
    from devctl_observer.children import Children
    from devctl_observer.cluster_api import ClusterApi
    from devctl_observer.model import Flavor, Server
    from devctl_observer.placed_pods import Asked

OURS = {"labels": {MANAGED_BY: MANAGER}}
"""What roles have made."""
_COUNTED = 5.0
"""Seconds between two counts of what is free while pods come and go: each may write all flavors."""
_WORKERS = 8
"""Requests in flight at most: 100 servers at once stay under a second, and the API server calm."""


class Servers:
    """Whom a change concerns among servers and flavors.

    Args:
        children: What is watched for every family.
        api: What can be changed.
    """

    def __init__(self, children: Children, api: ClusterApi) -> None:
        """Know nothing yet."""
        self.caches = Caches(children)
        self.controllers = Controllers(self.caches, api)
        self.servers = WorkQueue(self.controllers.server)
        self.flavors = WorkQueue(self.controllers.flavor)
        self._count = Pace(self._all_flavors, _COUNTED)

    @property
    def first(self) -> Sequence[Followed]:
        """DevServers."""
        return [Followed(kinds.DevServer, self.caches.servers, parse_server, self._server)]

    @property
    def others(self) -> Sequence[Followed]:
        """Flavors, StatefulSets that roles have made, and whatever takes room on nodes."""
        caches = self.caches
        return [
            Followed(
                *(kinds.DevServerFlavor, caches.flavors, parse_flavor, self._flavor),
                everywhere=False,
            ),
            Followed(
                *(StatefulSet, caches.stateful_sets, kinds.small_stateful_set, self.claim),
                selectors=OURS,
            ),
            Followed(PlacedPod, caches.placed, asked, self._placed, selectors=PLACED),
        ]

    @property
    def queues(self) -> Sequence[tuple[WorkQueue, int]]:
        """Servers and flavors."""
        return [(self.servers, _WORKERS), (self.flavors, 1)]

    def pod(self, old: Any, new: Any) -> None:
        """Look at the server of a child."""
        for state in (old, new):
            if state is not None and (key := server_of(state.metadata)):
                self.servers.add(key)

    def claim(self, old: Any, new: Any) -> None:
        """The same for a child that the role would have to make again."""
        if old is not None and new is None and (key := server_of(old.metadata)):
            self.caches.gone[key] = old.metadata.uid
        self.pod(old, new)

    def warning(self, old: Event | None, new: Event | None) -> None:
        """Look at the server that a warning is about."""
        event = new or old
        if event and (key := server_of_warning(event.involvedObject)):
            self.servers.add(key)

    def node(self, old: NodeFacts | None, new: NodeFacts | None) -> None:
        """Look at every flavor, and at the servers of a node that was lost or found."""
        self._all_flavors()
        if old is None or new is None or old.ready != new.ready:
            name = new.name if new else old.name if old else ""
            for pod in self.caches.pods:
                if pod.spec and pod.spec.nodeName == name and (key := server_of(pod.metadata)):
                    self.servers.add(key)

    def look_again(self) -> None:
        """Look at every server; flavors have no deadlines."""
        for key in self.caches.servers.keys():  # noqa: SIM118 - a Store is no dict; it iterates objects
            self.servers.add(key)

    def metrics(self) -> Iterator[str]:
        """How many servers there are, and what was done about them."""
        yield f"devctl_observer_devservers {len(self.caches.servers)}"
        yield f"devctl_observer_placed_pods {len(self.caches.placed)}"
        for kind, count in self.controllers.writes.items():
            yield f'devctl_observer_status_writes_total{{kind="{kind}"}} {count}'
        for kind, count in self.controllers.looks.items():
            yield f'devctl_observer_looks_total{{kind="{kind}"}} {count}'
        yield f'devctl_observer_wakes_total{{kind="devserver"}} {self.controllers.wakes}'

    def _server(self, old: Server | None, new: Server | None) -> None:
        if server := new or old:
            key = Key(server.metadata.namespace, server.metadata.name)
            if new:
                self.servers.add(key)
            else:
                self.servers.forget_timer(key)
                self.caches.gone.pop(key, None)

    def _flavor(self, old: Flavor | None, new: Flavor | None) -> None:
        flavor = new or old
        if flavor is None:
            return
        if old is None or new is None or _version(old) != _version(new):
            for name in (flavor.metadata.name, ""):
                for server in self.caches.servers.find(name):
                    self.servers.add(Key(server.metadata.namespace, server.metadata.name))
        if old is None or new is None or old.spec.default != new.spec.default:
            self._all_flavors()
        elif new:
            self.flavors.add(Key("", new.metadata.name))

    def _placed(self, old: Asked | None, new: Asked | None) -> None:
        self.caches.use.change(old, new)
        self._count.wish()

    def _all_flavors(self) -> None:
        for key in self.caches.flavors.keys():  # noqa: SIM118 - as above
            self.flavors.add(key)


def _version(flavor: Flavor) -> tuple[str, int]:
    """What moves with a flavor's spec, and with nothing else."""
    return flavor.metadata.uid, flavor.metadata.generation
