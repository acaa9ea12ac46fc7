"""One process's caches, queues and watches."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from lightkube.operators import not_equal
from lightkube.resources.apps_v1 import StatefulSet
from lightkube.resources.core_v1 import Event, Node, PersistentVolumeClaim, Pod

from devctl.api.labels import MANAGED_BY, MANAGER
from devctl_observer import kinds
from devctl_observer.caches import Caches, server_of, server_of_warning
from devctl_observer.cluster_api import ClusterApi
from devctl_observer.controllers import Controllers
from devctl_observer.flavor_fit import node_facts
from devctl_observer.model import parse_flavor, parse_server
from devctl_observer.reflector import Reflector
from devctl_observer.store import Key
from devctl_observer.work_queue import WorkQueue

if TYPE_CHECKING:
    from lightkube import AsyncClient

    from devctl.api.placing import NodeFacts
    from devctl_observer.model import Flavor, Server

log = logging.getLogger(__name__)

_WORKERS = 8
"""Requests in flight at most: 100 servers at once stay under a second, and the API server calm."""
_OURS = {"labels": {MANAGED_BY: MANAGER}}
# What pods' own conditions tell, and far more often.
_WARNINGS = {"fields": {"type": "Warning", "reason": not_equal("FailedScheduling")}}


class Observer:
    """One process's caches, queues and watches.

    Args:
        client: The cluster.
    """

    def __init__(self, client: AsyncClient) -> None:
        """Watch nothing yet."""
        self.caches = Caches()
        self.controllers = Controllers(self.caches, ClusterApi(client))
        self.servers = WorkQueue(self.controllers.server)
        self.flavors = WorkQueue(self.controllers.flavor)
        caches, follow = self.caches, partial(Reflector, client)
        self._first: list[Reflector[Any]] = [
            follow(kinds.DevServer, caches.servers, parse_server, self._server),
        ]
        self._others: list[Reflector[Any]] = [
            follow(
                kinds.DevServerFlavor, caches.flavors, parse_flavor, self._flavor, everywhere=False
            ),
            follow(Node, caches.nodes, node_facts, self._node, everywhere=False),
            follow(Pod, caches.pods, kinds.small_pod, self._child, selectors=_OURS),
            follow(
                *(StatefulSet, caches.stateful_sets, kinds.small_stateful_set, self._kept),
                selectors=_OURS,
            ),
            follow(
                *(PersistentVolumeClaim, caches.claims, kinds.without_history, self._kept),
                selectors=_OURS,
            ),
            follow(
                *(Event, caches.warnings, kinds.without_history, self._warning),
                selectors=_WARNINGS,
            ),
        ]

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for reflectors in (self._first, self._others):
                for reflector in reflectors:
                    tasks.create_task(reflector.run())
                for reflector in reflectors:
                    # A status from half of what there is would be wrong, and flap.
                    await reflector.synced.wait()
            log.info("caches filled: %s", self.metrics().replace("\n", " "))
            for _ in range(_WORKERS):
                tasks.create_task(self.servers.run())
            tasks.create_task(self.flavors.run())

    def metrics(self) -> str:
        """Figures in Prometheus' text format."""
        lines = [f"devctl_observer_devservers {len(self.caches.servers)}"]
        lines.append(f"devctl_observer_pods {len(self.caches.pods)}")
        for kind, count in self.controllers.writes.items():
            lines.append(f'devctl_observer_status_writes_total{{kind="{kind}"}} {count}')
        for kind, count in self.controllers.looks.items():
            lines.append(f'devctl_observer_looks_total{{kind="{kind}"}} {count}')
        lines.append(f"devctl_observer_wakes_total {self.controllers.wakes}")
        return "\n".join(lines) + "\n"

    def _server(self, old: Server | None, new: Server | None) -> None:
        if server := new or old:
            key = Key(server.metadata.namespace, server.metadata.name)
            if new:
                self.servers.add(key)
            else:
                self.servers.forget_timer(key)
                self.caches.gone.pop(key, None)

    def _kept(self, old: Any, new: Any) -> None:
        """The same for a child that the role would have to make again."""
        if old is not None and new is None and (key := server_of(old.metadata)):
            self.caches.gone[key] = old.metadata.uid
        self._child(old, new)

    def _child(self, old: Any, new: Any) -> None:
        for state in (old, new):
            if state is not None and (key := server_of(state.metadata)):
                self.servers.add(key)

    def _warning(self, old: Event | None, new: Event | None) -> None:
        event = new or old
        if event and (key := server_of_warning(event.involvedObject)):
            self.servers.add(key)

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

    def _node(self, old: NodeFacts | None, new: NodeFacts | None) -> None:
        self._all_flavors()
        if old is None or new is None or old.ready != new.ready:
            name = new.name if new else old.name if old else ""
            for pod in self.caches.pods:
                if pod.spec and pod.spec.nodeName == name and (key := server_of(pod.metadata)):
                    self.servers.add(key)

    def _all_flavors(self) -> None:
        for key in self.caches.flavors.keys():  # noqa: SIM118 - a Store is no dict; it iterates objects
            self.flavors.add(key)


def _version(flavor: Flavor) -> tuple[str, int]:
    """What moves with a flavor's spec, and with nothing else."""
    return flavor.metadata.uid, flavor.metadata.generation
