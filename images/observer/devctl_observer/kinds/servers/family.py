"""DevServers: what is watched, and which changes matter."""

from __future__ import annotations

from typing import Any, ClassVar

from lightkube.resources.core_v1 import Pod

from devctl.api.labels import DEVSERVER
from devctl_observer.control.family import Family
from devctl_observer.control.process import Process
from devctl_observer.judging.model import meta_of
from devctl_observer.judging.pods import node_of
from devctl_observer.kinds.activity.family import Activities
from devctl_observer.kinds.activity.model import WatchedPod
from devctl_observer.kinds.flavors.family import Flavors
from devctl_observer.kinds.servers.controller import ServerController
from devctl_observer.kinds.servers.idle_stop import watched
from devctl_observer.kinds.servers.model import Server
from devctl_observer.kinds.servers.observed import Caches
from devctl_observer.kinds.users.family import Users
from devctl_observer.watching.children import Owner
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

    def __init__(
        self, flavors: Flavors, users: Users, activities: Activities, process: Process
    ) -> None:
        """Start without any state."""
        self.caches = Caches(process.children, flavors.store)
        controller = ServerController(self.caches, users.suspended, activities.reports, process)
        super().__init__(controller)
        self._activities, self._children = activities, process.children
        activities.reported = self._reported
        activities.controller.watched = self._watched
        controller.noticed = self._noticed
        flavors.controller.concerns = self._flavor
        users.concerns = self._suspended

    def changed(self, old: Server | None, new: Server | None) -> None:
        """Reconcile a server; what is asked of its nodes' agents depends on its lifecycle."""
        if old and new is None:
            key = Key(old.metadata.namespace, old.metadata.name)
            self.controller.see_deleted(key, old)
        super().changed(old, new)
        if old and new and old.spec.lifecycle != new.spec.lifecycle:
            self._noticed(Key(new.metadata.namespace, new.metadata.name))

    def child(self, key: Key, old: Any, new: Any) -> None:
        """Reconcile a child's server; lost pods are recreated by the StatefulSet controller."""
        pod = new or old
        if isinstance(pod, Pod):
            self.controller.see_pod(key, pod, gone=new is None)
            nodes = {node_of(pod) for pod in (old, new) if pod}
            if old is None or new is None or len(nodes) > 1:
                for node in nodes - {""}:
                    self._activities.look_at(node)
        if isinstance(old, Pod):
            self.queue.add(key)
        else:
            super().child(key, old, new)

    def _noticed(self, key: Key) -> None:
        """Tell the agents of a server's nodes something else."""
        for pod in self._children.pods.find(Owner(DEVSERVER, key)):
            self._activities.look_at(node_of(pod))

    def _reported(self, node: str) -> None:
        """Look at the servers on a node of which a report has arrived."""
        for _, owner in self._children.pods_on(node):
            if owner.label == DEVSERVER:
                self.queue.add(owner.key)

    def _watched(self, node: str) -> list[WatchedPod]:
        """The pods of servers on a node on which its agent is to report at certain moments."""
        found = []
        for pod, owner in self._children.pods_on(node):
            server = self.store.get(owner.key) if owner.label == DEVSERVER else None
            if server and (asked := watched(meta_of(pod.metadata).uid, server)):
                found.append(asked)
        return found

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
