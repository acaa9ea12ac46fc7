"""The watches of one process, and the families of kinds that use them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from lightkube import AsyncClient
from lightkube.models.core_v1 import ObjectReference
from lightkube.operators import not_equal
from lightkube.resources.core_v1 import Event, Node, Pod, ResourceQuota

from devctl.api.placing import NodeFacts
from devctl_observer.control.cluster_api import ClusterApi
from devctl_observer.control.family import Family
from devctl_observer.control.figures import PODS
from devctl_observer.control.process import Clock, Process
from devctl_observer.families import families
from devctl_observer.watching.children import OURS, Children
from devctl_observer.watching.clock_watch import ClockWatch
from devctl_observer.watching.kept import SMALL, node_facts, without_history
from devctl_observer.watching.quotas import Quotas, room
from devctl_observer.watching.reflector import Followed, Reflector
from devctl_observer.watching.source import Source
from devctl_observer.watching.store import Key, Store
from devctl_observer.watching.workloads import Queued, Workload, queued

log = logging.getLogger(__name__)

# FailedScheduling is left out: the pods' own conditions report it, and far less often.
_WARNINGS = {"fields": {"type": "Warning", "reason": not_equal("FailedScheduling")}}


class Observer:
    """The watches and families of one process."""

    def __init__(self, client: AsyncClient, api: ClusterApi, clock: Clock, alone: str = "") -> None:
        """Set up the families, or one alone, without watching anything yet."""
        self._client, self._api = client, api
        self.children = Children()
        self.families: Sequence[Family[Any]] = families(Process(self.children, api, clock), alone)
        self._by_label = {family.label: family for family in self.families if family.label}
        self.children.labels = {label: f.kind.namespaced for label, f in self._by_label.items()}
        self.quotas = Quotas(self._look_in)
        self.children.grew = self.quotas.grew
        self.children.agents.tell = self._look_on
        self._clock = ClockWatch(self.look_again)
        self._reflectors: list[Reflector] = []
        self._filled = False
        PODS.set_function(lambda: len(self.children.pods))

    async def run(self) -> None:
        """Work until cancelled."""
        source = Source(self._client)
        first = [family.first for family in self.families]
        others = [followed for family in self.families for followed in family.others]
        async with asyncio.TaskGroup() as tasks:
            # Children are listed after their owners, so that none seems to be missing.
            for group in (first, [*others, *self.shared]):
                reflectors = [Reflector(source, followed) for followed in group]
                self._reflectors += reflectors
                for reflector in reflectors:
                    tasks.create_task(reflector.run())
                for reflector in reflectors:
                    # A status derived from a partial cache would be wrong, and flap.
                    await reflector.synced.wait()
            self._filled = True
            sizes = {family.controller.word: len(family.store) for family in self.families}
            log.info("caches synced: %s, %d pods", sizes, len(self.children.pods))
            tasks.create_task(self._clock.run())
            for family in self.families:
                for queue, workers in family.queues:
                    for _ in range(workers):
                        tasks.create_task(queue.run())

    def problems(self) -> list[str]:
        """Why statuses may be wrong or cannot be written; empty if there are no problems."""
        found = [reflector.problem for reflector in self._reflectors]
        found += [*self._api.refused.values(), "" if self._filled else "caches are not synced yet"]
        return [problem for problem in found if problem]

    def child(self, old: Any, new: Any) -> None:
        """Reconcile the owner of a child that has changed."""
        if isinstance(new or old, Pod):
            for family in self.families:
                family.pod(old, new)
        named = (self.children.owner(state.metadata) for state in (old, new) if state is not None)
        for owner in {owner for owner in named if owner}:
            self._by_label[owner.label].child(owner.key, old, new)

    def warning(self, old: Event | None, new: Event | None) -> None:
        """Reconcile the objects that a warning Event concerns."""
        if event := new or old:
            for family, key in self._owning(event.involvedObject):
                family.queue.add(key)

    def node(self, old: NodeFacts | None, new: NodeFacts | None) -> None:
        """Handle a changed node; reconcile what runs on it if its readiness changed."""
        for family in self.families:
            family.node(old, new)
        if old is None or new is None or old.ready != new.ready:
            self._look_on(new.name if new else old.name if old else "")

    def workload(self, old: Queued | None, new: Queued | None) -> None:
        """Reconcile what a Workload of Kueue's queues."""
        for kind, (namespace, name) in {state.owner for state in (old, new) if state}:
            about = ObjectReference(kind=kind, namespace=namespace, name=name)
            for family, key in self._owning(about):
                family.queue.add(key)

    def _look_on(self, node: str) -> None:
        """Reconcile what runs on a node."""
        for owner in {owner for _, owner in self.children.pods_on(node)}:
            self._by_label[owner.label].queue.add(owner.key)

    def _look_in(self, namespace: str) -> None:
        """Reconcile everything in a namespace."""
        for family in self.families:
            for key in family.store.keys():  # noqa: SIM118 - a Store is not a dict
                if key.namespace == namespace:
                    family.queue.add(key)

    def _owning(self, about: ObjectReference) -> list[tuple[Family[Any], Key]]:
        """The existing objects of ours whose child has that name."""
        named = [(family, family.of_child(about)) for family in self.families]
        return [(family, key) for family, key in named if key and family.store.get(key)]

    def look_again(self) -> None:
        """Reconcile everything after a step of the clock."""
        for family in self.families:
            family.look_again()

    @property
    def shared(self) -> Sequence[Followed]:
        """What is watched once for all families."""
        known = self.children
        nodes = Followed(Node, known.nodes, node_facts, self.node)
        if all(family.only_nodes for family in self.families):
            return [nodes]
        return [
            nodes,
            *(
                Followed(kind, store, SMALL.get(kind, without_history), self.child, OURS)
                for kind, store in known.stores.items()
            ),
            known.agents.followed,
            *known.devices.followed,
            *known.caches.followed,
            Followed(ResourceQuota, Store(), room, self.quotas.changed),
            Followed(
                *(Event, known.warnings, without_history, self.warning, _WARNINGS),
                # An unhealthy cluster emits Events about everyone's pods, each kept for an hour.
                keep=lambda event: bool(self._owning(event.involvedObject)),
            ),
            Followed(Workload, known.workloads, queued, self.workload, optional=True),
        ]
