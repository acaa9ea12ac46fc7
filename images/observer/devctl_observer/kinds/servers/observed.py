"""What a server's status is derived from, and the caches with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from lightkube.models.core_v1 import Pod
from lightkube.resources.apps_v1 import StatefulSet

from devctl.api.labels import DEVSERVER, MADE_FROM
from devctl.api.made_from import MadeFrom, read_record
from devctl.api.placing import effective_requests
from devctl.api.pod_spec import ACTIVITY_PROBE, shape
from devctl.api.quantities import gpus_in
from devctl_observer.judging.model import is_owned, meta_of, notes_of
from devctl_observer.judging.pods import Surroundings, is_refused
from devctl_observer.kinds.flavors.model import Flavor
from devctl_observer.kinds.servers.model import Server
from devctl_observer.watching.children import Children, Owner
from devctl_observer.watching.store import Key, Store
from devctl_observer.watching.workloads import Owner as Queueing
from devctl_observer.watching.workloads import Queued


@dataclass(frozen=True)
class Observed:
    """Everything that a server's status is derived from."""

    server: Server
    made: bool = False
    """Whether its StatefulSet exists."""
    scale: int = 0
    """The desired number of pods of its StatefulSet."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations of its StatefulSet, which record what its pods were created from."""
    revision: str = ""
    """The current revision of its StatefulSet, for new pods; empty if unknown."""
    pods: Sequence[Pod] = ()
    around: Surroundings = field(default_factory=Surroundings)
    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    queued: Queued | None = None
    """Its Workload, if it is in a queue."""
    stopped: datetime | None = None
    """Since when it has been stopped and has no pods."""

    @cached_property
    def record(self) -> MadeFrom | None:
        """What its pods were created from, parsed once."""
        return read_record(self.annotations.get(MADE_FROM))

    @property
    def flavor(self) -> str:
        """The flavor that its pods have or will have; empty if none of that name exists."""
        wanted = self.server.spec.flavor or ""
        return self.record.flavor if self.record else wanted if wanted in self.flavors else ""

    @property
    def gpus(self) -> int:
        """How many GPUs its pods request together; 0 if it has none."""
        given = self.record.flavor_spec.get("resources", {}) if self.record else {}
        try:
            gpus = gpus_in(effective_requests(given.get("requests", {}), given.get("limits", {})))
        except (AttributeError, ValueError):
            # The record is an annotation: others than its role may have changed it.
            return 0
        return self.size * gpus

    @property
    def layout(self) -> Mapping[str, Any]:
        """What determines the number of pods: while the server runs, what it was started with.

        A change of the spec does not affect it until nothing runs and the role applies the spec.
        """
        runs = bool(self.pods) or self.scale > 0
        return self.record.spec if self.record and runs else self.server.pod_spec

    @property
    def probes(self) -> bool:
        """Whether its pods have an activity probe."""
        return ACTIVITY_PROBE in self.layout

    @property
    def size(self) -> int:
        """The desired number of pods."""
        return 0 if self.server.ends else shape(self.layout)[0]

    @property
    def awaited(self) -> str:
        """The shared claim of unschedulable pods; empty if there are none."""
        waits = any(map(is_refused, self.pods))
        return str(self.layout.get("sharedVolumeClaimName", "")) if waits else ""


class Caches:
    """The stores that a server's status is derived from."""

    def __init__(self, children: Children, flavors: Store[Flavor]) -> None:
        """Watch the children of servers."""
        self.children, self.flavors = children, flavors
        self.servers: Store[Server] = Store(lambda server: server.spec.flavor or "")
        self.stateful_sets: Store[StatefulSet] = children.follow(StatefulSet)

    def observe(self, key: Key, server: Server) -> Observed:
        """Collect everything that a server's status is derived from."""
        children, owner = self.children, Owner(DEVSERVER, key)
        made = self.stateful_sets.get(key)
        claims = {meta_of(claim.metadata).name: claim for claim in children.claims.find(owner)}
        pods = tuple(children.pods.find(owner))
        warnings = children.warnings_about([made, *pods, *claims.values()])
        own = made if made and is_owned(made.metadata, server.metadata.uid) else None
        return Observed(
            server=server,
            made=own is not None,
            scale=(own.spec.replicas if own and own.spec else None) or 0,
            annotations=notes_of(own) if own else {},
            revision=(own.status.updateRevision if own and own.status else None) or "",
            pods=pods,
            around=Surroundings(claims, warnings, children.lost_nodes(), children.agents.awaited),
            flavors={flavor.metadata.name: flavor for flavor in self.flavors},
            queued=self.queued(key),
        )

    def queued(self, key: Key) -> Queued | None:
        """The Workload of a server that is in a queue."""
        return next(iter(self.children.workloads.find(Queueing("StatefulSet", key))), None)
