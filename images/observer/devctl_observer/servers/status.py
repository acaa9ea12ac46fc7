"""The whole status of a DevServer, from everything that was observed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from devctl.api.devserver import MASTER_PORT, Condition, Phase
from devctl.api.labels import MADE_FROM
from devctl.api.made_from import read_record
from devctl.api.occupancy import is_occupied
from devctl.api.pod_spec import shape
from devctl_observer.flavors.model import wanted_flavor
from devctl_observer.judging.conditions import UNKNOWN, condition, find, merge, word
from devctl_observer.judging.pods import Surroundings, is_refused
from devctl_observer.judging.refusals import since
from devctl_observer.judging.timestamps import from_text, to_text
from devctl_observer.servers.deadlines import expiry
from devctl_observer.servers.drift import Recorded, drift_condition, recorded
from devctl_observer.servers.phase import judge_server
from devctl_observer.servers.refusal import obstacle
from devctl_observer.servers.replicas import observe_replicas, to_statuses
from devctl_observer.servers.restart import advice, restart_condition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from lightkube.models.core_v1 import Pod

    from devctl.api.made_from import MadeFrom
    from devctl_observer.flavors.model import Flavor
    from devctl_observer.servers.deadlines import Expiry
    from devctl_observer.servers.model import Server
    from devctl_observer.servers.replicas import Replica

OWN = (
    Condition.READY,
    Condition.FLAVOR_OUTDATED,
    Condition.RESTART_REQUIRED,
    Condition.EXPIRING,
    Condition.IDLE,
)


@dataclass(frozen=True)
class Observed:
    """Everything that a server's status is derived from."""

    server: Server
    made: bool = False
    """Whether its StatefulSet exists."""
    scale: int = 0
    """How many pods its StatefulSet is to have."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Those of its StatefulSet: what its pods are made from."""
    revision: str = ""
    """The revision that its StatefulSet would make pods from now; empty where that is not known."""
    pods: Sequence[Pod] = ()
    around: Surroundings = field(default_factory=Surroundings)
    flavors: Mapping[str, Flavor] = field(default_factory=dict)

    @cached_property
    def record(self) -> MadeFrom | None:
        """What its pods are made from, read once however often it is asked for."""
        return read_record(self.annotations.get(MADE_FROM))

    @property
    def layout(self) -> Mapping[str, Any]:
        """What decides how many pods there should be: what the server runs on, while it runs.

        A change of the spec does not touch it. Once nothing runs the role takes up the spec.
        """
        runs = bool(self.pods) or self.scale > 0
        return self.record.spec if self.record and runs else self.server.pod_spec

    @property
    def awaited(self) -> str:
        """The shared claim of pods that the scheduler has no node for; empty without such."""
        waits = any(map(is_refused, self.pods))
        return str(self.layout.get("sharedVolumeClaimName", "")) if waits else ""


def server_status(seen: Observed, now: datetime) -> dict[str, Any]:
    """What status should say; a key without a value is left out."""
    server = seen.server
    made, layout = seen.record, seen.layout
    size = 0 if server.ends else shape(layout)[0]
    flavor, problem = wanted_flavor(server.spec.flavor, seen.flavors)
    deadline = expiry(server, now)
    ready_since = from_text(find(server.status, Condition.READY).get("lastTransitionTime"))
    around = replace(seen.around, warnings=since(seen.around.warnings, ready_since))
    replicas = observe_replicas(size, seen.pods, around)
    pods_flavor = seen.flavors.get(made.flavor) if made else None
    verdict = judge_server(
        *(server, replicas, size, pods_flavor), made=seen.made, flavor_problem=problem
    )
    runs_on = [
        recorded(pod.metadata.annotations if pod.metadata else None)
        or (made and Recorded(made.flavor, made.generation))
        for pod in seen.pods
    ]
    # As the role judges it: what nobody works in, it makes anew from the spec.
    occupied = [pod for pod in seen.pods if is_occupied(pod.to_dict())]
    lasting = runs_on if occupied and not server.ends else []
    revised = any(_revision(pod) not in {"", seen.revision} for pod in occupied if seen.revision)
    then = advice(server, problem or obstacle(server))
    ready = condition(
        Condition.READY, word(verdict.phase is Phase.RUNNING), verdict.reason, verdict.message
    )
    wanted = [
        _expiring(server, deadline, now),
        drift_condition(lasting, made, flavor or problem, then),
        _idle(server),
        ready,
        restart_condition(server, made, then, running=bool(lasting), revised=revised),
    ]
    running = [r for r in replicas if r.verdict.phase is Phase.RUNNING and r.ordinal < size]
    status: dict[str, Any] = {
        "phase": str(verdict.phase),
        "replicas": size,
        "readyReplicas": len(running),
        "replicaStatuses": to_statuses(replicas, server.metadata.name),
        "endpoints": _endpoints(server, layout, size),
        "startedAt": _started(replicas),
        "expiresAt": to_text(deadline.at) if deadline else None,
        # The oldest that a pod runs on.
        "flavorGeneration": min((entry.generation for entry in runs_on if entry), default=None),
        "conditions": merge(
            [entry for entry in wanted if entry],
            server.status.get("conditions", []),
            server.metadata.generation,
            now,
        ),
    }
    return {key: value for key, value in status.items() if value is not None}


def _endpoints(server: Server, layout: Mapping[str, Any], size: int) -> dict[str, Any] | None:
    """Where the server's replicas answer, from inside the cluster and through devctl."""
    name, namespace = server.metadata.name, server.metadata.namespace
    if not size:
        return None
    hosts = [f"{name}-{number}.{name}.{namespace}.svc" for number in range(size)]
    endpoints: dict[str, Any] = {"hosts": hosts, "master": f"{hosts[0]}:{MASTER_PORT}"}
    if layout.get("enableSSH", True):
        endpoints["ssh"] = f"devctl ssh {name} --namespace {namespace}"
    return endpoints


def _started(replicas: Sequence[Replica]) -> str | None:
    """When the node of the first pod took it; no stored state is needed for that."""
    starts = [r.pod.status.startTime for r in replicas if r.pod and r.pod.status]
    known = [start for start in starts if start is not None]
    return to_text(min(known)) if known else None


def _revision(pod: Pod) -> str:
    """The revision of the StatefulSet that a pod was made from."""
    labels = (pod.metadata.labels if pod.metadata else None) or {}
    return str(labels.get("controller-revision-hash", ""))


def _expiring(server: Server, deadline: Expiry | None, now: datetime) -> dict[str, Any] | None:
    lifecycle = server.spec.lifecycle
    if lifecycle is None or lifecycle.time_to_live is None:
        return None
    if deadline is None:
        message = "its age is not known for certain, so it is not deleted; check the clocks"
        return condition(Condition.EXPIRING, UNKNOWN, "ClockNotTrusted", message)
    keep = "raise or remove spec.lifecycle.timeToLive to keep it"
    message = f"the server is deleted at {to_text(deadline.at)}, its files stay; {keep}"
    soon = now >= deadline.notice
    return condition(Condition.EXPIRING, word(soon), "Soon" if soon else "TimeToLive", message)


def _idle(server: Server) -> dict[str, Any] | None:
    """A field that is accepted and does nothing must not pass for one that works."""
    if server.spec.lifecycle is None or server.spec.lifecycle.idle_timeout is None:
        return None
    message = "idle time is not measured yet: spec.lifecycle.idleTimeout stops nothing"
    return condition(Condition.IDLE, UNKNOWN, "NotMeasured", message)
