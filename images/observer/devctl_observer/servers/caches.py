"""Everything that is watched for servers, and which of them a change concerns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl_observer.children import Children, is_owned
from devctl_observer.node_use import NodeUse
from devctl_observer.pods import Surroundings
from devctl_observer.server_status import Observed
from devctl_observer.store import Key, Store

if TYPE_CHECKING:
    from lightkube.models.core_v1 import ObjectReference
    from lightkube.resources.apps_v1 import StatefulSet

    from devctl_observer.model import Flavor, Server
    from devctl_observer.placed_pods import Asked


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
    """The stores of every kind that makes a server.

    Args:
        children: Those that are shared with other families.
    """

    def __init__(self, children: Children | None = None) -> None:
        """Begin with nothing known."""
        self.servers: Store[Server] = Store(lambda server: server.spec.flavor or "")
        self.flavors: Store[Flavor] = Store()
        self.stateful_sets: Store[StatefulSet] = Store()
        self.placed: Store[Asked] = Store()
        self.use = NodeUse()
        """What all of these ask of each node."""
        self.children = children or Children()
        self.pods, self.claims = self.children.pods, self.children.claims
        self.warnings, self.nodes = self.children.warnings, self.children.nodes
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
        about = [("StatefulSet", made.metadata if made else None)]
        about += [("Pod", pod.metadata) for pod in pods]
        about += [("PersistentVolumeClaim", claim.metadata) for claim in claims.values()]
        around = Surroundings(
            claims=claims,
            warnings=self.children.warnings_about(about),
            lost_nodes=self.children.lost_nodes(),
        )
        own = made if made is not None and is_owned(made.metadata, owner) else None
        return Observed(
            server=server,
            made=own is not None,
            scale=(own.spec.replicas if own and own.spec else None) or 0,
            annotations=(own.metadata.annotations if own and own.metadata else None) or {},
            pods=pods,
            around=around,
            flavors=self.flavors_by_name(),
        )
