"""The children of all our kinds; each kind of child is watched once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from lightkube.models.core_v1 import ObjectReference
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Event, PersistentVolumeClaim, Pod

from devctl.api.labels import MANAGED_BY, MANAGER
from devctl.api.placing import NodeFacts
from devctl_observer.judging.pods import node_of
from devctl_observer.watching.devices import Devices
from devctl_observer.watching.network_agents import NetworkAgents
from devctl_observer.watching.node_caches import Caches
from devctl_observer.watching.store import Key, Store
from devctl_observer.watching.workloads import Queued

OURS = {"labels": {MANAGED_BY: MANAGER}}
"""Selects what roles have created."""


class Owner(NamedTuple):
    """The object of ours that a child belongs to: the label of its kind, and its key.

    It is in the child's namespace, unless its kind is cluster-scoped. Owner references are not
    used, because a pod's names its StatefulSet, and a claim outlives its owner.
    """

    label: str
    key: Key


class Children:
    """The stores that all families share."""

    def __init__(self) -> None:
        """Start with empty stores."""
        self.labels: dict[str, bool] = {}
        """The labels by which children name their owner; whether the owner is namespaced."""
        self.stores: dict[Any, Store[Any]] = {}
        """The children, by kind."""
        self.pods: Store[Pod] = self.follow(Pod)
        self.claims: Store[PersistentVolumeClaim] = self.follow(PersistentVolumeClaim)
        self.warnings: Store[Event] = Store(lambda event: event.involvedObject.uid)
        self.nodes: Store[NodeFacts] = Store()
        self.workloads: Store[Queued] = Store(lambda workload: workload.owner)
        """Kueue's, whoever owns them; empty if it is not installed."""
        self.agents = NetworkAgents()
        self.devices = Devices()
        self.caches = Caches()
        self.grew: Callable[[str], str] = lambda _: ""
        """Identifies the last time that a quota of a namespace had more room."""

    def follow(self, resource: Any) -> Store[Any]:
        """Watch the children of a kind, given as lightkube's class; returns their store."""
        return self.stores.setdefault(resource, Store(lambda child: self.owner(child.metadata)))

    def of(self, owner: Owner) -> list[Any]:
        """All children of an object, of any kind."""
        return [child for store in self.stores.values() for child in store.find(owner)]

    def owner(self, metadata: ObjectMeta | None) -> Owner | None:
        """The owner of a child."""
        labels = (metadata.labels if metadata else None) or {}
        for label, namespaced in self.labels.items():
            if metadata and (name := labels.get(label)):
                return Owner(label, Key((metadata.namespace or "") if namespaced else "", name))
        return None

    def warned(self, about: ObjectReference) -> Owner | None:
        """The owner of the child that a warning is about."""
        key = Key(about.namespace or "", about.name or "")
        found = (s.get(key) for kind, s in self.stores.items() if kind.__name__ == about.kind)
        return next((self.owner(child.metadata) for child in found if child), None)

    def warnings_about(self, things: Iterable[Any]) -> tuple[Event, ...]:
        """Warnings about these very objects; None is skipped.

        A warning about an earlier object of the same name does not concern this one.
        """
        there = [thing for thing in things if thing]
        return tuple(event for thing in there for event in self.warnings.find(thing.metadata.uid))

    def pods_on(self, node: str) -> Iterator[tuple[Pod, Owner]]:
        """The pods on a node, each with its owner."""
        for pod in self.pods:
            if node_of(pod) == node and (owner := self.owner(pod.metadata)):
                yield pod, owner

    def lost_nodes(self) -> frozenset[str]:
        """Nodes that are not ready."""
        return frozenset(node.name for node in self.nodes if not node.ready)
