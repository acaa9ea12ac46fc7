"""What is watched once, however many kinds of ours are made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from devctl.api.labels import DEVSERVER
from devctl_observer.store import Key, Store

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightkube.models.core_v1 import ObjectReference
    from lightkube.models.meta_v1 import ObjectMeta
    from lightkube.resources.core_v1 import Event, PersistentVolumeClaim, Pod

    from devctl.api.placing import NodeFacts


class About(NamedTuple):
    """What a warning is about."""

    kind: str
    namespace: str
    name: str


def server_of(metadata: ObjectMeta | None) -> Key | None:
    """The server that a child belongs to, by its label."""
    name = ((metadata.labels if metadata else None) or {}).get(DEVSERVER)
    return Key(metadata.namespace or "", name) if metadata and name else None


def is_owned(metadata: ObjectMeta | None, uid: str) -> bool:
    """Whether an object is a child of that very owner, and not of an earlier one of its name."""
    owners = (metadata.ownerReferences if metadata else None) or []
    return any(owner.uid == uid for owner in owners)


def subject(about: ObjectReference) -> About:
    """What a warning is found by."""
    return About(about.kind or "", about.namespace or "", about.name or "")


class Children:
    """The stores of the kinds that every family shares."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self.pods: Store[Pod] = Store(lambda pod: server_of(pod.metadata))
        self.claims: Store[PersistentVolumeClaim] = Store(lambda claim: server_of(claim.metadata))
        self.warnings: Store[Event] = Store(lambda event: subject(event.involvedObject))
        self.nodes: Store[NodeFacts] = Store()

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

    def lost_nodes(self) -> frozenset[str]:
        """Nodes that do not answer."""
        return frozenset(node.name for node in self.nodes if not node.ready)
