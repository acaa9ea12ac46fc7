"""The whole status of a DevServer, from everything that was observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from devctl.api.conditions import find
from devctl.api.devserver import MASTER_PORT, Condition, Phase
from devctl.api.made_from import MadeFrom
from devctl.api.occupancy import is_occupied
from devctl.api.placing import with_limits
from devctl_observer.judging.clocks import from_text, to_text
from devctl_observer.judging.conditions import FALSE, TRUE, UNKNOWN, condition, merge, word
from devctl_observer.judging.model import labels_of, notes_of
from devctl_observer.judging.refusals import since
from devctl_observer.kinds.flavors.model import wanted_flavor
from devctl_observer.kinds.servers import drift
from devctl_observer.kinds.servers.deadlines import Deadline, Limit, expiry, is_early
from devctl_observer.kinds.servers.idle_status import Told, length_of
from devctl_observer.kinds.servers.model import Server
from devctl_observer.kinds.servers.observed import Observed
from devctl_observer.kinds.servers.phase import judge_server, obstacle
from devctl_observer.kinds.servers.queueing import preempted_at
from devctl_observer.kinds.servers.replicas import observe_replicas, to_statuses
from devctl_observer.kinds.servers.runtime import MAX_RUNTIME_SOON, run_end, run_start
from devctl_observer.kinds.servers.runtime import is_early as is_too_early

OWN = [kind for kind in Condition if kind is not Condition.APPLIED]
_NOTHING = Told()


def server_status(
    seen: Observed,
    now: datetime,
    idle: Told = _NOTHING,
    hooks: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The desired status; keys without a value are left out.

    Args:
        seen: Everything that was observed.
        now: The time.
        idle: What it says about idleness.
        hooks: How the hooks of its last pods ended.
    """
    server = seen.server
    made, size = seen.record, seen.size
    flavor, problem = wanted_flavor(
        server.spec.flavor,
        seen.flavors,
        had=made.flavor if made else "",
        applied=find(server.status, Condition.APPLIED).get("status") == TRUE,
    )
    deadline = expiry(server, now, seen.stopped)
    start = run_start(server, seen.pods, now)
    end = run_end(server, now, start)
    ready_since = from_text(find(server.status, Condition.READY).get("lastTransitionTime"))
    around = replace(seen.around, warnings=since(seen.around.warnings, ready_since))
    replicas = observe_replicas(size, seen.pods, around)
    verdict = judge_server(seen, replicas, problem)
    runs_on = [
        drift.recorded(notes_of(pod)) or (made and drift.Recorded(made.flavor, made.generation))
        for pod in seen.pods
    ]
    # The role recreates unoccupied pods from the spec, so only occupied ones count.
    occupied = [pod for pod in seen.pods if is_occupied(pod.to_dict())]
    lasting = runs_on if occupied and not server.ends else []
    revisions = {labels_of(pod).get("controller-revision-hash") for pod in occupied}
    revised = bool(seen.revision and revisions - {None, "", seen.revision})
    then = drift.advice(server, problem or obstacle(server))
    ready = condition(
        Condition.READY, word(verdict.phase is Phase.RUNNING), verdict.reason, verdict.message
    )
    wanted = [
        _expiring(server, deadline, now),
        _runtime_ending(server, end, now, start),
        drift.drift_condition(lasting, made, flavor or problem, then),
        idle.condition,
        ready,
        drift.restart_condition(server, made, then, running=bool(lasting), revised=revised),
    ]
    running = [r for r in replicas if r.verdict.phase is Phase.RUNNING and r.ordinal < size]
    status: dict[str, Any] = {
        "phase": str(verdict.phase),
        "replicas": size,
        "readyReplicas": len(running),
        "replicaStatuses": to_statuses(replicas, server.metadata.name),
        "endpoints": _endpoints(seen),
        "startedAt": to_text(start) if start else None,
        "runEndsAt": to_text(end.at) if end else None,
        "stoppedAt": to_text(seen.stopped) if seen.stopped else None,
        "preemptedAt": preempted_at(seen),
        "expiresAt": to_text(deadline.at) if deadline else None,
        **idle.fields,
        "hooks": list(hooks) or None,
        "requests": _requests(made) if made and seen.pods else None,
        # The oldest one in use.
        "flavorGeneration": min((entry.generation for entry in runs_on if entry), default=None),
        "conditions": merge(filter(None, wanted), server, now),
    }
    return {key: value for key, value in status.items() if value is not None}


def _requests(made: MadeFrom) -> dict[str, str] | None:
    """What each pod requests."""
    resources = made.flavor_spec.get("resources") or {}
    requests = with_limits(resources.get("requests") or {}, resources.get("limits") or {})
    return {name: str(amount) for name, amount in requests.items()} or None


def _endpoints(seen: Observed) -> dict[str, Any] | None:
    """Where to reach the replicas, from inside the cluster and with devctl."""
    name, namespace = seen.server.metadata.name, seen.server.metadata.namespace
    hosts = [f"{name}-{number}.{name}.{namespace}.svc" for number in range(seen.size)]
    if not hosts:
        return None
    endpoints: dict[str, Any] = {"hosts": hosts, "master": f"{hosts[0]}:{MASTER_PORT}"}
    if seen.layout.get("enableSSH", True):
        endpoints["ssh"] = f"devctl ssh {name} --namespace {namespace}"
    return endpoints


def _expiring(server: Server, deadline: Deadline | None, now: datetime) -> dict[str, Any] | None:
    life, kind = server.spec.lifecycle, Condition.EXPIRING
    if life.time_to_live is None and life.delete_after_stopped is None:
        return None
    if deadline is None and life.time_to_live is None and not is_early(server, now):
        length = length_of(life.delete_after_stopped)
        message = f"the server will be deleted once it has been stopped for {length}"
        return condition(kind, FALSE, "NotStopped", f"{message}; its files are kept")
    if deadline is None:
        message = "its age is uncertain, so it is kept; ask an administrator to check the clocks"
        return condition(kind, UNKNOWN, "ClockNotTrusted", message)
    at = f"the server will be deleted at {to_text(deadline.at)}, its files are kept; to keep it, "
    if deadline.limit is Limit.DELETE_AFTER_STOPPED:
        keep = "start it, or raise or remove spec.lifecycle.deleteAfterStopped"
    else:
        keep = "raise or remove spec.lifecycle.timeToLive"
    soon = now >= deadline.notice
    return condition(kind, word(soon), "Soon" if soon else deadline.limit, at + keep)


def _runtime_ending(
    server: Server, end: Deadline | None, now: datetime, start: datetime | None
) -> dict[str, Any] | None:
    kind, limit = Condition.RUNTIME_ENDING, server.spec.lifecycle.max_runtime
    if limit is None:
        return None
    if end is None and is_too_early(server, now, start):
        message = "its start is uncertain, so it runs on; ask an administrator to check the clocks"
        return condition(kind, UNKNOWN, "ClockNotTrusted", message)
    if end is None:
        message = f"the server does not run; a run is stopped after {length_of(limit)}"
        return condition(kind, FALSE, "NotRunning", message)
    message = (
        f"the server will be stopped at {to_text(end.at)}, after {length_of(limit)}, even if it is"
        " active; its files are kept; to keep it running, use"
        f" `devctl extend {server.metadata.name} --max-runtime 4h`"
    )
    soon = now >= end.notice
    return condition(kind, word(soon), MAX_RUNTIME_SOON if soon else end.limit, message)
