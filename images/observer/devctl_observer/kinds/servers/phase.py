"""The phase of a server, from its replicas and from the failure of its role."""

from __future__ import annotations

from collections.abc import Sequence

from devctl.api.applied import PASSING, Reason
from devctl.api.conditions import find
from devctl.api.devserver import Condition, FlavorCondition, Phase
from devctl.api.idleness import Idleness
from devctl.api.workloads import PREEMPTED, QUEUED
from devctl_observer.judging.conditions import FALSE, MESSAGE_LIMIT, TRUE, failure
from devctl_observer.judging.model import Verdict
from devctl_observer.judging.pods import node_of
from devctl_observer.kinds.servers.deadlines import Limit
from devctl_observer.kinds.servers.model import Server
from devctl_observer.kinds.servers.observed import Observed
from devctl_observer.kinds.servers.queueing import preemption, waiting, without_kueue
from devctl_observer.kinds.servers.replicas import Replica

# Of several replicas that do not run, the most severe state wins.
_GRAVITY = [Phase.FAILED, Phase.PENDING, Phase.STARTING, Phase.STOPPING]
_PLACING = {"Scheduling", "Unschedulable", "VolumeNotFound", "VolumePending"}
"""Reasons of an unscheduled pod."""
_RETRIED = PASSING - {Reason.QUOTA_EXCEEDED}
"""Reasons that go away without user action."""
_BY_ITSELF = {Idleness.STOPPED, Limit.MAX_RUNTIME}
"""Why a server is stopped without anybody asking for it."""
_LONGEST = 1024


def judge_server(seen: Observed, replicas: Sequence[Replica], flavor_problem: str) -> Verdict:
    """The server's phase and the reason of its Ready condition.

    Args:
        seen: The desired state, and what was observed.
        replicas: The states of its replicas.
        flavor_problem: Why its flavor cannot be used; empty if it can.
    """
    server = seen.server
    present = [replica for replica in replicas if replica.pod is not None]
    if server.metadata.deletion_timestamp:
        return Verdict(Phase.STOPPING, "Deleting", "the server is being deleted; files are kept")
    if because := _stopped_by(seen):
        ended = server.spec.stopped and not present
        return Verdict(Phase.STOPPED if ended else Phase.STOPPING, *because)
    if server.spec.stopped and present:
        message = f"the server is stopping; pods still terminating: {len(present)}"
        return with_addition(Verdict(Phase.STOPPING, "Stopping", message), addition(server))
    if server.spec.stopped:
        start = f"start it with `devctl start {server.metadata.name}`"
        message = f"the server is stopped and its files are kept; {start}"
        return Verdict(Phase.STOPPED, "Stopped", message)
    wanted = [replica for replica in replicas if replica.ordinal < seen.size]
    if any(replica.pod is not None for replica in wanted):
        # An invalid change does not affect running pods, so their state counts.
        verdict = _combine(wanted)
        if verdict.reason == QUEUED:
            verdict = waiting(seen)
        elif verdict.phase is Phase.RUNNING:
            verdict = _unless_cut_off(verdict, seen)
        else:
            verdict = _unless_unfit(verdict, seen)
        return with_addition(verdict, addition(server))
    return _obstacle(seen, flavor_problem) or _combine(wanted)


def _stopped_by(seen: Observed) -> tuple[str, str] | None:
    """Why devctl stopped it, as reason and message, until the next start."""
    server = seen.server
    if why := preemption(seen):
        return PREEMPTED, why
    if not server.spec.stopped or server.stopped_by not in _BY_ITSELF:
        return None
    start = f"start it with `devctl start {server.metadata.name}`"
    return server.stopped_by, f"{server.stopped_by_message}; its files are kept; {start}"


def _unless_cut_off(verdict: Verdict, seen: Observed) -> Verdict:
    """The same verdict, unless the server is new and its pods may not have any connections yet.

    A network plugin that is down leaves the connections of older pods alone.
    """
    if find(seen.server.status, Condition.READY).get("status") == TRUE:
        return verdict
    for node in sorted({node_of(pod) for pod in seen.pods}):
        if plugin := seen.around.agents.get(node):
            message = (
                f"its pod has no connections yet: the network plugin `{plugin}` is not ready on"
                f" node `{node}`; the server is ready once that is, ask an administrator"
            )
            return Verdict(Phase.PENDING, "NetworkNotReady", message)
    return verdict


def _unless_unfit(verdict: Verdict, seen: Observed) -> Verdict:
    """The same verdict, unless its pods wait and no node fits the flavor: that is the root cause.

    The scheduler may report only the volume, or resources that other pods would have to free.
    """
    flavor = seen.flavors.get(seen.record.flavor) if seen.record else None
    said = find(flavor.status, FlavorCondition.SCHEDULABLE) if flavor else {}
    if flavor is None or verdict.reason not in _PLACING or said.get("status") != FALSE:
        return verdict
    name, why = flavor.metadata.name, said.get("message")
    message = f"flavor `{name}` fits no node: {why}; choose another one, or ask an administrator"
    return Verdict(Phase.PENDING, "Unschedulable", message)


def _obstacle(seen: Observed, flavor_problem: str) -> Verdict | None:
    """Why there cannot be any pods yet."""
    if flavor_problem:
        return Verdict(Phase.FAILED, "InvalidFlavor", flavor_problem)
    if refused := refusal(seen.server):
        return without_kueue(seen.server, refused)
    if not seen.made:
        return Verdict(Phase.PENDING, "NotApplied", "the operator is about to create its pods")
    return None


def _combine(wanted: Sequence[Replica]) -> Verdict:
    running = [replica for replica in wanted if replica.verdict.phase is Phase.RUNNING]
    count = f"{len(running)} of {len(wanted)} replicas ready"
    if len(running) == len(wanted):
        message = "the server is ready" if len(wanted) == 1 else count
        return Verdict(Phase.RUNNING, "Ready", message)
    rest = [replica for replica in wanted if replica.verdict.phase is not Phase.RUNNING]
    worst = min(rest, key=lambda replica: _GRAVITY.index(replica.verdict.phase))
    verdict = worst.verdict
    # A terminating pod that is still wanted will be replaced.
    phase = Phase.STARTING if verdict.phase is Phase.STOPPING else verdict.phase
    if len(wanted) == 1:
        return Verdict(phase, verdict.reason, verdict.message)
    message = f"{count}; replica {worst.ordinal}: {verdict.message}"
    return Verdict(phase, verdict.reason, message)


def refusal(server: Server) -> Verdict | None:
    """Why a server without pods gets none, in the role's own words."""
    said = failure(server)
    if not said:
        return None
    reason = said.get("reason") or "ApplyFailed"
    phase = Phase.PENDING if reason in PASSING else Phase.FAILED
    return Verdict(phase, reason, said.get("message") or "it cannot be created")


def addition(server: Server) -> str:
    """What to add to the state of a server that has pods; empty if there is nothing to add.

    A change that cannot be applied does not affect running pods, and would go unnoticed.
    """
    refused = refusal(server)
    if refused is None or refused.reason in _RETRIED:
        return ""
    return f"its current spec is not applied ({refused.reason}): {obstacle(server)}"


def obstacle(server: Server) -> str:
    """Why a server could not start now, according to its role; empty if it could."""
    refused = refusal(server)
    return "" if refused is None or refused.reason in _RETRIED else refused.message[:_LONGEST]


def with_addition(verdict: Verdict, more: str) -> Verdict:
    """The verdict with an addition to its message, which is never truncated."""
    end = f"; but {more}" if more else ""
    message = verdict.message[: MESSAGE_LIMIT - len(end)] + end
    return Verdict(verdict.phase, verdict.reason, message)
