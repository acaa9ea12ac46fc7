"""What is watched once, however many kinds of ours are made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from lightkube.models.core_v1 import ObjectReference
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Event, PersistentVolumeClaim, Pod

from devctl.api.labels import MANAGED_BY, MANAGER
from devctl.api.placing import NodeFacts
from devctl_observer.judging.pods import node_of
from devctl_observer.watching.store import Key, Store

OURS = {"labels": {MANAGED_BY: MANAGER}}
"""What roles have made."""


class Owner(NamedTuple):
    """The object of ours that a child belongs to: the label of its kind, and its key.

    The object is in the child's namespace, or in none where its kind is not.
    No owner reference: a pod's names its StatefulSet, and a claim outlives whom it was made for.
    """

    label: str
    key: Key


class Children:
    """The stores of the kinds that every family shares."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self.labels: dict[str, bool] = {}
        """By which children name the object that they belong to; whether that is in a namespace."""
        self.stores: dict[Any, Store[Any]] = {}
        """Children by their kind."""
        self.pods: Store[Pod] = self.follow(Pod)
        self.claims: Store[PersistentVolumeClaim] = self.follow(PersistentVolumeClaim)
        self.warnings: Store[Event] = Store(lambda event: event.involvedObject.uid)
        self.nodes: Store[NodeFacts] = Store()
        self.grew: Callable[[str], str] = lambda _: ""
        """Stands for the last time that a namespace's quotas left more room."""

    def follow(self, resource: Any) -> Store[Any]:
        """Have the children of a kind watched, given by lightkube's class; returns their store."""
        return self.stores.setdefault(resource, Store(lambda child: self.owner(child.metadata)))

    def of(self, owner: Owner) -> list[Any]:
        """All children of an object, of whatever kind."""
        return [child for store in self.stores.values() for child in store.find(owner)]

    def owner(self, metadata: ObjectMeta | None) -> Owner | None:
        """The object that a child belongs to."""
        labels = (metadata.labels if metadata else None) or {}
        for label, namespaced in self.labels.items():
            if metadata and (name := labels.get(label)):
                return Owner(label, Key((metadata.namespace or "") if namespaced else "", name))
        return None

    def warned(self, about: ObjectReference) -> Owner | None:
        """The object whose child a warning is about."""
        key = Key(about.namespace or "", about.name or "")
        found = (s.get(key) for kind, s in self.stores.items() if kind.__name__ == about.kind)
        return next((self.owner(child.metadata) for child in found if child), None)

    def warnings_about(self, things: Iterable[Any]) -> tuple[Event, ...]:
        """Warnings about these very objects; what is None is not there.

        A warning about an earlier object of the same name says nothing about this one.
        """
        there = [thing for thing in things if thing]
        return tuple(event for thing in there for event in self.warnings.find(thing.metadata.uid))

    def owners_on(self, node: str) -> set[Owner]:
        """Whose pods a node has."""
        pods = (pod for pod in self.pods if node_of(pod) == node)
        return {owner for pod in pods if (owner := self.owner(pod.metadata))}

    def lost_nodes(self) -> frozenset[str]:
        """Nodes that do not answer."""
        return frozenset(node.name for node in self.nodes if not node.ready)
