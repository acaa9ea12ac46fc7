"""The state of an attempt that has not ended, or that ends because it makes no progress."""

from __future__ import annotations

from datetime import datetime, timedelta

from lightkube.models.core_v1 import Pod

from devctl.api import devserver
from devctl.api.gpu_workload import Phase
from devctl.api.workloads import PREEMPTED, QUEUED
from devctl_observer.judging.conditions import failure
from devctl_observer.judging.exits import started_at
from devctl_observer.judging.model import Verdict
from devctl_observer.judging.pods import ends_at, is_refused, judge_start, node_of, pod_condition
from devctl_observer.judging.printable import shown
from devctl_observer.judging.queueing import judge_waiting, preempted_because
from devctl_observer.judging.refusals import latest
from devctl_observer.judging.scheduling import Words
from devctl_observer.kinds.gpu_workload.endings import (
    End,
    judge_end,
    mark,
    node_lost,
    preempted_by,
)
from devctl_observer.kinds.gpu_workload.observed import Observed, rank_of
from devctl_observer.kinds.gpu_workload.ongoing import RUNNING, Ongoing, together
from devctl_observer.kinds.gpu_workload.placement import told_chosen

UNSTARTED = timedelta(minutes=2)
"""For how long a pod may fail to start on its node."""
UNSCHEDULABLE = timedelta(minutes=5)
"""For how long the scheduler may find no node for a pod."""

WORDS = Words(
    volume="its volumes",
    less="request less in spec.gpuCount or spec.resources",
    other="the workload; request less in spec.gpuCount or spec.resources",
    absent="create it, or name another one in spec.volumes",
)


def judge_attempt(seen: Observed, now: datetime) -> Ongoing | End:
    """The state of the current attempt."""
    if seen.job is None:
        return _without_job(seen)
    if ended := judge_end(seen):
        return ended
    if seen.job.spec and seen.job.spec.suspend:
        return _suspended(seen)
    if seen.size > 1:
        pods = {rank_of(pod): _one_of_several(seen, pod, now) for pod in seen.pods}
        return together({rank: pods.get(rank) or _without_pod(seen) for rank in range(seen.size)})
    return _with_pod(seen, seen.pods[0], now) if seen.pods else _without_pod(seen)


def _without_job(seen: Observed) -> Ongoing | End:
    item = seen.item
    if name := item.status.get("jobName"):
        return End("JobDeleted", f"its Job `{name}` was deleted before its program ended")
    if said := failure(item):
        detail = shown(str(said.get("message", ""))) or "its Job cannot be created"
        return Ongoing(Phase.SCHEDULING, str(said.get("reason") or "ApplyFailed"), detail)
    chosen = told_chosen(item.chosen) or "it waits in a queue, whatever nodes are free"
    return Ongoing(Phase.SCHEDULING, "Scheduling", f"{chosen}; its Job is about to be created")


def _suspended(seen: Observed) -> Ongoing:
    """In a queue: Kueue lets the Job run when there is quota, and takes it back if it preempts."""
    report = seen.queued
    queue = report.queue if report else seen.item.spec.queue_name
    if report and report.preempted:
        why = preempted_because(report.preempted)
        by = preempted_by(seen) if seen.preemptor else why
        return Ongoing(Phase.PENDING, PREEMPTED, f"{by}; it is in queue `{queue}` again")
    verdict = judge_waiting("", "", queue, report.waits if report else None)
    return Ongoing(Phase.PENDING, QUEUED, shown(verdict.message))


def _without_pod(seen: Observed) -> Ongoing:
    refused = latest(event for event in seen.around.warnings if event.reason == "FailedCreate")
    if refused:
        detail = f"the cluster refuses to create its pod ({shown(refused.message or '')})"
        return Ongoing(Phase.SCHEDULING, "PodRefused", detail)
    return Ongoing(Phase.SCHEDULING, "Creating", "its pod is about to be created")


def _one_of_several(seen: Observed, pod: Pod, now: datetime) -> Ongoing | End:
    """The state of a rank, which may have ended well while others go on."""
    if pod.status and pod.status.phase == "Succeeded":
        message = "its program has ended"
        return Ongoing(Phase.RUNNING, RUNNING, message, node_of(pod), started_at(pod))
    return _with_pod(seen, pod, now)


def _with_pod(seen: Observed, pod: Pod, now: datetime) -> Ongoing | End:
    node, started, until = node_of(pod), started_at(pod), ends_at(pod)
    phase = Phase.RUNNING if started else Phase.SCHEDULED if node else Phase.SCHEDULING
    if until and now >= until and node and node not in seen.nodes:
        # Only its kubelet could confirm the end.
        return node_lost(node)
    if told := mark(pod, seen):
        return Ongoing(phase, *told, node, started)
    if node and node not in seen.nodes:
        message = f"node `{node}` is not ready; if this persists, the attempt fails"
        return Ongoing(phase, "NodeNotReady", message, node, started, until)
    if until:
        return Ongoing(phase, "Ending", "its pod is being deleted", node, started, until)
    if started:
        message = f"its program is running on node `{node}`"
        return Ongoing(phase, RUNNING, message, node, started)
    return _not_started(pod, seen, now, phase)


def _not_started(pod: Pod, seen: Observed, now: datetime, phase: Phase) -> Ongoing | End:
    verdict, node = judge_start(pod, seen.around, WORDS), node_of(pod)
    message = shown(verdict.message)
    patience = _patience(pod, verdict)
    scheduled = pod_condition(pod, "PodScheduled")
    since = scheduled.lastTransitionTime if scheduled else None
    until = since + patience if since and patience else None
    if until and now >= until:
        return End(verdict.reason, message)
    return Ongoing(phase, verdict.reason, message, node, None, until)


def _patience(pod: Pod, verdict: Verdict) -> timedelta | None:
    """For how long this may last; None if it will pass."""
    if is_refused(pod):
        return UNSCHEDULABLE
    return UNSTARTED if verdict.phase is devserver.Phase.FAILED else None
