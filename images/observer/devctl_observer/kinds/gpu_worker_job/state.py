"""The state of a job: what it waits for, that it runs, or how it ended."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from lightkube.models.core_v1 import Pod

from devctl.api import devserver
from devctl.api.gpu_worker_job import WAITING, Phase
from devctl.api.workloads import QUEUED
from devctl_observer.judging.clocks import Clocks
from devctl_observer.judging.conditions import failure
from devctl_observer.judging.exits import started_at
from devctl_observer.judging.pods import ends_at, is_refused, judge_start, node_of, pod_condition
from devctl_observer.judging.printable import shown
from devctl_observer.judging.queueing import judge_waiting
from devctl_observer.judging.refusals import latest
from devctl_observer.judging.scheduling import Words
from devctl_observer.kinds.gpu_worker_job.binding import binding
from devctl_observer.kinds.gpu_worker_job.endings import goes_on, judge_end, judge_success
from devctl_observer.kinds.gpu_worker_job.model import Outcome
from devctl_observer.kinds.gpu_worker_job.observed import Observed

NO_NODE = "NoNode"
"""No registered node could take it, even if it were empty."""
UNSTARTED = timedelta(minutes=2)
"""For how long its container may fail to start: no other job gets its room meanwhile."""
WORDS = Words(
    volume="its input",
    less="submit it again with smaller requirements",
    other="the job; submit it again with smaller requirements",
)
_WAITS = {"Scheduling", "Unschedulable"}


def judge(seen: Observed, clocks: Clocks) -> Outcome:
    """The state of a job whose end is not recorded yet."""
    outcome = _judge(seen)
    if outcome.fails_at and clocks.passed(outcome.fails_at):
        return replace(outcome, phase=Phase.FAILED, fails_at=None)
    return outcome


def _judge(seen: Observed) -> Outcome:
    item = seen.item
    if item.going:
        return Outcome(item.phase, "Deleting", "it is being deleted")
    if ended := judge_end(seen) or (judge_success(seen.last) if seen.job is None else None):
        return ended
    if item.spec.cancelled:
        return _cancelled(seen)
    if seen.job is None:
        return _without_job(seen)
    if seen.job.spec and seen.job.spec.suspend:
        return _suspended(seen)
    pod = seen.pods[-1] if seen.pods else None
    return _with_pod(pod, seen) if pod else _without_pod(seen)


def _cancelled(seen: Observed) -> Outcome:
    if seen.job is not None or goes_on(seen):
        return Outcome(
            seen.item.phase, "Cancelling", "it was cancelled: its program is being ended"
        )
    return Outcome(Phase.CANCELLED, "Cancelled", "it was cancelled")


def _without_job(seen: Observed) -> Outcome:
    item = seen.item
    if item.status.get("jobName"):
        message = "its Job was deleted before its program ended"
        return Outcome(Phase.FAILED, "JobDeleted", message)
    if said := failure(item):
        detail = shown(str(said.get("message", ""))) or "its Job cannot be created"
        return Outcome(Phase.PENDING, str(said.get("reason") or "ApplyFailed"), detail)
    return Outcome(Phase.PENDING, WAITING, "its Job is about to be created")


def _suspended(seen: Observed) -> Outcome:
    report = seen.queued
    queue = report.queue if report else seen.item.spec.queue_name
    verdict = judge_waiting("", "", queue, report.waits if report else None)
    return Outcome(Phase.PENDING, QUEUED, shown(verdict.message))


def _without_pod(seen: Observed) -> Outcome:
    refused = latest(event for event in seen.around.warnings if event.reason == "FailedCreate")
    if refused:
        detail = f"the cluster refuses to create its pod ({shown(refused.message or '')})"
        return Outcome(Phase.PENDING, "PodRefused", detail)
    again = "its program starts again" if seen.item.runs else "its pod is about to be created"
    return Outcome(Phase.PENDING, WAITING, again)


def _with_pod(pod: Pod, seen: Observed) -> Outcome:
    node = node_of(pod)
    phase = Phase.RUNNING if started_at(pod) else Phase.SCHEDULED if node else Phase.PENDING
    if node and node not in seen.ready:
        message = f"node `{node}` is not ready; if this persists, its run ends"
        return Outcome(phase, "NodeNotReady", message)
    if ends_at(pod):
        return Outcome(phase, "Ending", "its pod is being deleted")
    if phase is Phase.RUNNING:
        return Outcome(phase, "Running", f"its program is running on node `{node}`")
    if is_refused(pod) and (why := binding(seen.item.spec, seen.nodes)):
        return Outcome(Phase.PENDING, NO_NODE, why)
    return _not_started(pod, seen, phase)


def _not_started(pod: Pod, seen: Observed, phase: Phase) -> Outcome:
    verdict = judge_start(pod, seen.around, WORDS)
    reason = WAITING if verdict.reason in _WAITS else verdict.reason
    scheduled = pod_condition(pod, "PodScheduled")
    since = scheduled.lastTransitionTime if scheduled else None
    fails = verdict.phase is devserver.Phase.FAILED and since is not None
    at = since + UNSTARTED if fails and since else None
    return Outcome(phase, reason, shown(verdict.message), fails_at=at)
