"""What is watched once, however many kinds of ours are made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from devctl.api.labels import MANAGED_BY, MANAGER
from devctl_observer.watching.store import Key, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lightkube.models.core_v1 import ObjectReference
    from lightkube.models.meta_v1 import ObjectMeta
    from lightkube.resources.core_v1 import Event, PersistentVolumeClaim, Pod

    from devctl.api.placing import NodeFacts

OURS = {"labels": {MANAGED_BY: MANAGER}}
"""What roles have made."""


class Owner(NamedTuple):
    """The object of ours that a child belongs to: the label of its kind, and its key.

    No owner reference: a pod's names its StatefulSet, and a claim outlives whom it was made for.
    """

    label: str
    key: Key


class About(NamedTuple):
    """What a warning is about."""

    kind: str
    namespace: str
    name: str


def is_owned(metadata: ObjectMeta | None, uid: str) -> bool:
    """Whether an object is a child of that very owner, and not of an earlier one of its name."""
    owners = (metadata.ownerReferences if metadata else None) or []
    return any(owner.uid == uid for owner in owners)


def subject(about: ObjectReference) -> About:
    """What a warning is found by."""
    return About(about.kind or "", about.namespace or "", about.name or "")


class Children:
    """The stores of the kinds that every family shares.

    Args:
        labels: Those by which children name the object that they belong to, one for each kind.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        """Begin with nothing known."""
        self._labels = labels
        self.pods: Store[Pod] = Store(lambda pod: self.owner(pod.metadata))
        self.claims: Store[PersistentVolumeClaim] = Store(lambda claim: self.owner(claim.metadata))
        self.warnings: Store[Event] = Store(lambda event: subject(event.involvedObject))
        self.nodes: Store[NodeFacts] = Store()
        self.grew: Callable[[str], str] = lambda _: ""
        """Stands for the last time that a namespace's quotas left more room."""

    def owner(self, metadata: ObjectMeta | None) -> Owner | None:
        """The object that a child belongs to."""
        labels = (metadata.labels if metadata else None) or {}
        for label in self._labels:
            if metadata and (name := labels.get(label)):
                return Owner(label, Key(metadata.namespace or "", name))
        return None

    def warnings_about(self, objects: Iterable[tuple[str, ObjectMeta | None]]) -> tuple[Event, ...]:
        """Warnings about these very objects, each given by its kind and metadata.

        A warning about an earlier object of the same name says nothing about this one.
        """
        return tuple(
            event
            for kind, metadata in objects
            if metadata
            for event in self.warnings.find(
                About(kind, metadata.namespace or "", metadata.name or "")
            )
            if event.involvedObject.uid == metadata.uid
        )

    def owners_on(self, node: str) -> set[Owner]:
        """Whose pods a node has."""
        pods = (pod for pod in self.pods if pod.spec and pod.spec.nodeName == node)
        return {owner for pod in pods if (owner := self.owner(pod.metadata))}

    def lost_nodes(self) -> frozenset[str]:
        """Nodes that do not answer."""
        return frozenset(node.name for node in self.nodes if not node.ready)
