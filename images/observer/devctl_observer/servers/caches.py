"""Everything that is watched for servers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devctl.api.labels import DEVSERVER
from devctl_observer.judging.pods import Surroundings
from devctl_observer.servers.status import Observed
from devctl_observer.watching.children import Owner, is_owned
from devctl_observer.watching.store import Key, Store

if TYPE_CHECKING:
    from lightkube.resources.apps_v1 import StatefulSet

    from devctl_observer.flavors.model import Flavor
    from devctl_observer.servers.model import Server
    from devctl_observer.watching.children import Children


def _by_flavor() -> Store[Server]:
    return Store(lambda server: server.spec.flavor or "")


@dataclass
class Caches:
    """The stores of every kind that makes a server."""

    children: Children
    """Those that are shared with other families."""
    flavors: Store[Flavor]
    servers: Store[Server] = field(default_factory=_by_flavor)
    stateful_sets: Store[StatefulSet] = field(default_factory=Store)

    def observe(self, key: Key, server: Server) -> Observed:
        """Everything that a server's status is derived from."""
        children, owner = self.children, Owner(DEVSERVER, key)
        made = self.stateful_sets.get(key)
        claims = {
            claim.metadata.name or "": claim
            for claim in children.claims.find(owner)
            if claim.metadata
        }
        pods = tuple(children.pods.find(owner))
        about = [("StatefulSet", made.metadata if made else None)]
        about += [("Pod", pod.metadata) for pod in pods]
        about += [("PersistentVolumeClaim", claim.metadata) for claim in claims.values()]
        own = made if made and is_owned(made.metadata, server.metadata.uid) else None
        return Observed(
            server=server,
            made=own is not None,
            scale=(own.spec.replicas if own and own.spec else None) or 0,
            annotations=(own.metadata.annotations if own and own.metadata else None) or {},
            revision=(own.status.updateRevision if own and own.status else None) or "",
            pods=pods,
            around=Surroundings(claims, children.warnings_about(about), children.lost_nodes()),
            flavors={flavor.metadata.name: flavor for flavor in self.flavors},
        )
