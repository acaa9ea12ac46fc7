"""The whole status of a DevServer, from everything that was observed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from devctl.api.devserver import MASTER_PORT, Condition, Phase
from devctl_observer.conditions import UNKNOWN, condition, find, merge, word
from devctl_observer.deadlines import expiry
from devctl_observer.flavor_drift import Recorded, drift_condition, recorded, wanted_flavor
from devctl_observer.phase import judge_server
from devctl_observer.refusals import since
from devctl_observer.replicas import Surroundings, observe_replicas
from devctl_observer.timestamps import from_text, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from lightkube.models.core_v1 import Pod

    from devctl_observer.model import Flavor, Server
    from devctl_observer.replicas import Replica

OWN = (Condition.READY, Condition.FLAVOR_OUTDATED, Condition.EXPIRING)


@dataclass(frozen=True)
class Observed:
    """Everything that a server's status is derived from."""

    server: Server
    made: bool = False
    """Whether its StatefulSet exists."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Those of its StatefulSet, for pods that do not say themselves what they were made from."""
    pods: Sequence[Pod] = ()
    around: Surroundings = field(default_factory=Surroundings)
    flavors: Mapping[str, Flavor] = field(default_factory=dict)


def server_status(seen: Observed, now: datetime) -> dict[str, Any]:
    """What status should say; a key without a value is left out."""
    server = seen.server
    size = 0 if server.spec.stopped or server.metadata.deletion_timestamp else server.size
    flavor, problem = wanted_flavor(server, seen.flavors)
    ready_since = from_text(find(server.status, Condition.READY).get("lastTransitionTime"))
    around = replace(seen.around, warnings=since(seen.around.warnings, ready_since))
    replicas = observe_replicas(size, seen.pods, around)
    verdict = judge_server(server, replicas, made=seen.made, flavor_problem=problem)
    template = recorded(seen.annotations)
    made_from = [
        recorded(pod.metadata.annotations if pod.metadata else None) or template
        for pod in seen.pods
    ]
    ready = condition(
        Condition.READY, word(verdict.phase is Phase.RUNNING), verdict.reason, verdict.message
    )
    wanted = [_expiring(server, now), drift_condition(made_from, flavor, problem), ready]
    name = server.metadata.name
    running = [r for r in replicas if r.verdict.phase is Phase.RUNNING and r.ordinal < size]
    status: dict[str, Any] = {
        "phase": str(verdict.phase),
        "replicas": size,
        "readyReplicas": len(running),
        "replicaStatuses": [r.to_status(f"{name}-{r.ordinal}") for r in replicas],
        "endpoints": _endpoints(server, size),
        "startedAt": _started(replicas),
        "expiresAt": _expires(server, now),
        "flavorGeneration": _generation(made_from),
        "conditions": merge(
            [entry for entry in wanted if entry],
            server.status.get("conditions", []),
            server.metadata.generation,
            now,
        ),
    }
    return {key: value for key, value in status.items() if value is not None}


def _endpoints(server: Server, size: int) -> dict[str, Any] | None:
    """Where the server's replicas answer, from inside the cluster and through devctl."""
    name, namespace = server.metadata.name, server.metadata.namespace
    if not size:
        return None
    hosts = [f"{name}-{number}.{name}.{namespace}.svc" for number in range(size)]
    endpoints: dict[str, Any] = {"hosts": hosts, "master": f"{hosts[0]}:{MASTER_PORT}"}
    if server.spec.enable_ssh:
        endpoints["ssh"] = f"devctl ssh {name} --namespace {namespace}"
    return endpoints


def _started(replicas: Sequence[Replica]) -> str | None:
    """When the node of the first pod took it; no stored state is needed for that."""
    starts = [r.pod.status.startTime for r in replicas if r.pod and r.pod.status]
    known = [start for start in starts if start is not None]
    return to_text(min(known)) if known else None


def _expires(server: Server, now: datetime) -> str | None:
    deadline = expiry(server, now)
    return to_text(deadline.at) if deadline else None


def _generation(made_from: Sequence[Recorded | None]) -> int | None:
    """The oldest generation of the flavor that a pod runs on."""
    return min((entry.generation for entry in made_from if entry), default=None)


def _expiring(server: Server, now: datetime) -> dict[str, Any] | None:
    lifecycle = server.spec.lifecycle
    if lifecycle is None or lifecycle.time_to_live is None:
        return None
    deadline = expiry(server, now)
    if deadline is None:
        message = "its age is not known for certain, so it is not deleted; check the clocks"
        return condition(Condition.EXPIRING, UNKNOWN, "ClockNotTrusted", message)
    keep = "raise or remove spec.lifecycle.timeToLive to keep it"
    message = f"the server is deleted at {to_text(deadline.at)}, its files stay; {keep}"
    soon = now >= deadline.notice
    return condition(Condition.EXPIRING, word(soon), "Soon" if soon else "TimeToLive", message)
