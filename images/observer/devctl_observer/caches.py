"""Everything that is watched, and which servers and flavors a change concerns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.api.labels import DEVSERVER
from devctl_observer.replicas import Surroundings
from devctl_observer.server_status import Observed
from devctl_observer.store import Key, Store

if TYPE_CHECKING:
    from lightkube.models.core_v1 import ObjectReference
    from lightkube.models.meta_v1 import ObjectMeta
    from lightkube.resources.apps_v1 import StatefulSet
    from lightkube.resources.core_v1 import Event, PersistentVolumeClaim, Pod

    from devctl.api.placing import NodeFacts
    from devctl_observer.model import Flavor, Server


def server_of(metadata: ObjectMeta | None) -> Key | None:
    """The server that a child belongs to, by its label."""
    name = ((metadata.labels if metadata else None) or {}).get(DEVSERVER)
    return Key(metadata.namespace or "", name) if metadata and name else None


def server_of_warning(about: ObjectReference) -> Key | None:
    """The server whose child a warning is about, by the child's name."""
    namespace, name = about.namespace or "", about.name or ""
    if about.kind == "StatefulSet":
        return Key(namespace, name)
    stem, _, number = name.rpartition("-")
    if about.kind == "PersistentVolumeClaim" and stem.startswith("home-"):
        return Key(namespace, stem.removeprefix("home-")) if number.isdecimal() else None
    if about.kind == "Pod" and number.isdecimal():
        return Key(namespace, stem)
    return None


class Caches:
    """The stores of every kind."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self.servers: Store[Server] = Store(lambda server: server.spec.flavor or "")
        self.flavors: Store[Flavor] = Store()
        self.stateful_sets: Store[StatefulSet] = Store()
        self.pods: Store[Pod] = Store(lambda pod: server_of(pod.metadata))
        self.claims: Store[PersistentVolumeClaim] = Store(lambda claim: server_of(claim.metadata))
        self.warnings: Store[Event] = Store(lambda event: server_of_warning(event.involvedObject))
        self.nodes: Store[NodeFacts] = Store()
        self.gone: dict[Key, str] = {}
        """The UID of what each server lost last."""

    def flavors_by_name(self) -> dict[str, Flavor]:
        """Every flavor."""
        return {flavor.metadata.name: flavor for flavor in self.flavors}

    def observe(self, key: Key, server: Server) -> Observed:
        """Everything that a server's status is derived from."""
        owner = server.metadata.uid
        made = self.stateful_sets.get(key)
        claims = {
            claim.metadata.name or "": claim for claim in self.claims.find(key) if claim.metadata
        }
        pods = tuple(self.pods.find(key))
        # A warning about an earlier object of the same name says nothing about this one.
        about = [made.metadata if made else None, *(pod.metadata for pod in pods)]
        about += [claim.metadata for claim in claims.values()]
        uids = {metadata.uid for metadata in about if metadata}
        around = Surroundings(
            claims=claims,
            warnings=tuple(w for w in self.warnings.find(key) if w.involvedObject.uid in uids),
            lost_nodes=frozenset(node.name for node in self.nodes if not node.ready),
        )
        own = made if made is not None and _is_owned(made.metadata, owner) else None
        return Observed(
            server=server,
            made=own is not None,
            scale=(own.spec.replicas if own and own.spec else None) or 0,
            annotations=(own.metadata.annotations if own and own.metadata else None) or {},
            pods=pods,
            around=around,
            flavors=self.flavors_by_name(),
        )


def _is_owned(metadata: ObjectMeta | None, uid: str) -> bool:
    """Whether an object is a child of that very server, and not of an earlier one of its name."""
    owners = (metadata.ownerReferences if metadata else None) or []
    return any(owner.uid == uid for owner in owners)
