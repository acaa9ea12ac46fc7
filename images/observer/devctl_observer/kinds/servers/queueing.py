"""What a server's queue has to do with its state: it waits there, or was preempted."""

from __future__ import annotations

import re

from devctl.api import workloads
from devctl.api.applied import Reason
from devctl.api.conditions import find
from devctl.api.devserver import Condition, Phase
from devctl_observer.judging.model import Verdict
from devctl_observer.kinds.servers.model import Server
from devctl_observer.kinds.servers.observed import Observed

_WEBHOOK = re.compile(r"failed calling webhook .*kueue-webhook-service")
_NOT_SEEN = "Kueue has not answered yet; check with `devctl doctor` whether it runs"


def waiting(seen: Observed) -> Verdict:
    """Why pods that are gated do not start."""
    queued, server = seen.queued, seen.server
    flavor = (seen.record.flavor if seen.record else "") or server.spec.flavor or ""
    if server.spec.team:
        whose = f"the queue of team `{server.spec.team}`"
        where = f"{whose} for flavor `{flavor}`" if flavor else whose
    else:
        where = f"queue `{queued.queue}`" if queued else "a queue"
    if queued is None:
        what = _NOT_SEEN
    else:
        # Kueue reports nothing on those that it has not tried.
        what = workloads.why(queued.waits) if queued.waits else "its turn has not come yet"
    return Verdict(Phase.PENDING, workloads.QUEUED, f"waiting in {where}: {what}")


def without_kueue(server: Server, refused: Verdict) -> Verdict:
    """The same refusal of a role, or that it is for want of Kueue, whose webhook must agree."""
    detail = refused.message if refused.reason == Reason.UNAVAILABLE else ""
    if not server.spec.team or not _WEBHOOK.search(detail):
        return refused
    message = (
        f"Kueue does not answer, which admits servers of team `{server.spec.team}`; the server is "
        "queued once it does, ask an administrator"
    )
    return Verdict(Phase.PENDING, "QueueUnavailable", message)


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
    if reason == workloads.IN_QUEUE:
        why = "a server with a higher priority needed its quota"
    else:
        why = "another team took back the quota that it had lent"
    start = f"`devctl start {server.metadata.name}` puts it back into the queue"
    return f"preempted because {why}; the server is stopped and its files are kept; {start}"
