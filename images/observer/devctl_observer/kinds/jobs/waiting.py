"""The state of a job that has not ended: what it waits for, or that it runs."""

from __future__ import annotations

from datetime import datetime

from lightkube.models.core_v1 import Pod

from devctl.api.ephemeral_acceleration_job import Phase
from devctl.api.workloads import QUEUED
from devctl_observer.judging.conditions import failure
from devctl_observer.judging.exits import started_at
from devctl_observer.judging.pods import ends_at, judge_start, node_of
from devctl_observer.judging.printable import shown
from devctl_observer.judging.queueing import CHECK, judge_unavailable, judge_waiting
from devctl_observer.judging.scheduling import JOB_WORDS
from devctl_observer.kinds.jobs.endings import stop
from devctl_observer.kinds.jobs.model import Outcome
from devctl_observer.kinds.jobs.observed import Observed

_STAYS = "its volume is kept until it expires"
_CREATING = {"SandboxFailed", "NotReady", "CrashLoop", "OutOfMemory"}
"""Reasons of a pod that is still being set up."""


def judge_unfinished(seen: Observed) -> Outcome:
    """The state of a job that has not ended."""
    job, pod = seen.job, seen.pod
    if job.going:
        message = f"the job is being deleted; {_STAYS}"
        return (
            Outcome(Phase.RUNNING, "Ending", message)
            if job.started
            else _pending("Deleting", message)
        )
    if pod is None:
        return _without_pod(seen)
    started = started_at(pod)
    if started or job.started:
        return _running(pod, seen, started)
    return _not_started(pod, seen)


def _not_started(pod: Pod, seen: Observed) -> Outcome:
    if why := stop(pod, seen):
        return _pending(*why)
    if node := _lost(pod, seen):
        message = (
            f"node `{node}`, where it is to start, is not ready; if this persists, the job fails"
        )
        return _pending("NodeNotReady", message)
    if ends_at(pod):
        return _pending("Deleting", "its pod is being deleted; the operator creates another one")
    verdict = judge_start(pod, seen.around, JOB_WORDS)
    if verdict.reason == QUEUED and seen.job.team:
        return _pending(QUEUED, shown(_queued(seen)))
    reason = "Creating" if verdict.reason in _CREATING else verdict.reason
    return _pending(reason, shown(verdict.message))


def _pending(reason: str, message: str) -> Outcome:
    """The outcome of a job that has not started."""
    return Outcome(Phase.PENDING, reason, message)


def _without_pod(seen: Observed) -> Outcome:
    job = seen.job
    if said := failure(job):
        reason = str(said.get("reason") or "ApplyFailed")
        detail = str(said.get("message", ""))
        if kueue := judge_unavailable("job", job.team, reason, detail):
            return _pending(kueue.reason, kueue.message)
        return _pending(reason, shown(detail) or "it cannot be created")
    if seen.taken:
        message = f"waiting for pod `{seen.pod_name}` of an earlier job to end"
        message += f", which Kueue has to release; {CHECK}" if seen.held else ""
        return _pending("Deleting", message)
    if job.spec.suspend:
        only = "suspended, so that files can be copied to its volume"
        return _pending("Suspended", f"{only}; start it with `egpu create {job.metadata.name}`")
    return _pending("NotApplied", "the operator is about to create its pod")


def _queued(seen: Observed) -> str:
    """What a job waits for in its queue."""
    job = seen.job
    queue, waits = (seen.queued.queue, seen.queued.waits) if seen.queued else ("", None)
    return judge_waiting(job.team, job.spec.flavor, queue, waits).message


def _running(pod: Pod, seen: Observed, started: datetime | None) -> Outcome:
    node = node_of(pod)
    if _lost(pod, seen):
        message = f"node `{node}` is not ready; if this persists, the job fails"
        return Outcome(Phase.RUNNING, "NodeNotReady", message, started)
    if why := stop(pod, seen):
        return Outcome(Phase.RUNNING, *why, started)
    if ends_at(pod):
        message = f"its pod is being deleted on node `{node}`"
        return Outcome(Phase.RUNNING, "Ending", message, started)
    return Outcome(Phase.RUNNING, "Running", f"its program is running on node `{node}`", started)


def _lost(pod: Pod, seen: Observed) -> str:
    """The node of a pod, if it is not ready."""
    node = node_of(pod)
    return "" if node in seen.nodes else node
