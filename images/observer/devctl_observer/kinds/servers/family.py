"""DevServers: what is watched, and which changes matter."""

from __future__ import annotations

from typing import Any, ClassVar

from lightkube.resources.core_v1 import Pod

from devctl.api.labels import DEVSERVER
from devctl_observer.control.family import Family
from devctl_observer.control.process import Process
from devctl_observer.kinds.flavors.family import Flavors
from devctl_observer.kinds.servers.controller import ServerController
from devctl_observer.kinds.servers.model import Server
from devctl_observer.kinds.servers.observed import Caches
from devctl_observer.kinds.users.family import Users
from devctl_observer.watching.store import Key


class Servers(Family[Server]):
    """The family of DevServers."""

    controller: ServerController
    label = DEVSERVER
    names: ClassVar = {
        "StatefulSet": "(.+)",
        "Pod": r"(.+)-\d+",
        "PersistentVolumeClaim": r"home-(.+)-\d+",
    }

    def __init__(self, flavors: Flavors, users: Users, process: Process) -> None:
        """Start without any state."""
        self.caches = Caches(process.children, flavors.store)
        super().__init__(ServerController(self.caches, users.suspended, process))
        flavors.controller.concerns = self._flavor
        users.concerns = self._suspended

    def child(self, key: Key, old: Any, new: Any) -> None:
        """Reconcile a child's server; lost pods are recreated by the StatefulSet controller."""
        if isinstance(old, Pod):
            self.queue.add(key)
        else:
            super().child(key, old, new)

    def _flavor(self, name: str) -> None:
        """Reconcile the servers of a flavor, and those without one."""
        for wanted in (name, ""):
            for server in self.store.find(wanted):
                self.queue.add(Key(server.metadata.namespace, server.metadata.name))

    def _suspended(self, namespace: str) -> None:
        """Look at the servers in the namespace of a user who has just been suspended."""
        for server in self.store:
            if server.metadata.namespace == namespace:
                self.queue.add(Key(namespace, server.metadata.name))
