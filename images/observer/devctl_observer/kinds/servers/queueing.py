"""What a server's queue has to do with its state: it waits there, or was preempted."""

from __future__ import annotations

from devctl.api import workloads
from devctl.api.conditions import find
from devctl.api.devserver import Condition
from devctl_observer.judging.model import Verdict
from devctl_observer.judging.queueing import judge_unavailable, judge_waiting, preempted_because
from devctl_observer.kinds.servers.model import Server
from devctl_observer.kinds.servers.observed import Observed


def waiting(seen: Observed) -> Verdict:
    """Why pods that are gated do not start."""
    queued, server = seen.queued, seen.server
    flavor = (seen.record.flavor if seen.record else "") or server.spec.flavor or ""
    queue, waits = (queued.queue, queued.waits) if queued else ("", None)
    return judge_waiting(server.spec.team or "", flavor, queue, waits)


def without_kueue(server: Server, refused: Verdict) -> Verdict:
    """The same refusal of a role, or that it is for want of Kueue, whose webhook must agree."""
    team = server.spec.team or ""
    return judge_unavailable("server", team, refused.reason, refused.message) or refused


def is_preempted(seen: Observed) -> bool:
    """Whether a server has to be stopped because its queue has preempted it.

    Kueue reports a preemption until it admits the pods again, so also after the next start.
    """
    server, queued = seen.server, seen.queued
    if not queued or not queued.preempted or server.ends:
        return False
    if queued.preempted_at != server.status.get("preemptedAt"):
        return True
    # Reported already. Unless the spec has changed since, it was not stopped yet.
    said = find(server.status, Condition.READY)
    current = said.get("observedGeneration") == server.metadata.generation
    return current and said.get("reason") == workloads.PREEMPTED


def preempted_at(seen: Observed) -> str | None:
    """When a server was preempted last."""
    known: str | None = seen.server.status.get("preemptedAt")
    return seen.queued.preempted_at if seen.queued and seen.queued.preempted else known


def preemption(seen: Observed) -> str:
    """Why a server was stopped by its queue; empty if it was not.

    The status keeps it until the next start, whatever becomes of the Workload.
    """
    server, queued = seen.server, seen.queued
    if queued and is_preempted(seen):
        return _told(server, queued.preempted)
    said = find(server.status, Condition.READY)
    kept = server.spec.stopped and said.get("reason") == workloads.PREEMPTED
    return str(said.get("message", "")) if kept else ""


def _told(server: Server, reason: str) -> str:
    start = f"`devctl start {server.metadata.name}` puts it back into the queue"
    return f"{preempted_because(reason)}; the server is stopped and its files are kept; {start}"
