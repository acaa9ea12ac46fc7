"""How an attempt ended, from its Job and pods, and whether that counts as a retry."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from lightkube.models.batch_v1 import JobCondition
from lightkube.models.core_v1 import Pod

from devctl.api.workloads import PREEMPTED
from devctl_observer.judging.exits import (
    NODE_ENDED,
    NODE_GONE,
    UNKNOWN_EXIT,
    disruption,
    exit_of,
    program_did,
    was_deleted,
)
from devctl_observer.judging.job_conditions import job_condition
from devctl_observer.judging.pods import node_of
from devctl_observer.judging.printable import LONGEST, shown
from devctl_observer.kinds.gpu_workload.culprit import culprit
from devctl_observer.kinds.gpu_workload.observed import Observed, rank_of

EVICTED = "Evicted"
UNCOUNTED = frozenset({PREEMPTED, EVICTED})
"""Reasons of attempts that were ended for others: no retry is counted."""

_MEMORY = "raise spec.resources.memory"
_BY_SCHEDULER, _BY_EVICTION = "PreemptionByScheduler", "EvictionByEvictionAPI"
_POLICY = "PodFailurePolicy"
"""Kubernetes' reason of a Job whose pod was disrupted."""


class End(NamedTuple):
    """How an attempt ended."""

    reason: str
    message: str
    succeeded: bool = False
    final: bool = False
    """Whether there is no retry, whatever the policy says."""
    exit_code: int | None = None
    started: datetime | None = None
    finished: datetime | None = None

    def of_rank(self, rank: int) -> End:
        """The same as the end of one of several pods."""
        return self._replace(message=f"rank {rank}: {self.message}"[:LONGEST])


def judge_end(seen: Observed) -> End | None:
    """How an attempt ended according to its Job; None if it has not."""
    if seen.job is None:
        return None
    if job_condition(seen.job, "Complete"):
        return End("Completed", "its program succeeded", True, False, 0, *_times(seen))  # noqa: FBT003
    failed = job_condition(seen.job, "Failed")
    return _failed(seen, failed) if failed else None


def _times(seen: Observed) -> tuple[datetime | None, datetime | None]:
    """When the first pod of a finished Job started, and when the last one ended."""
    ends = [ended for pod in seen.pods if (ended := exit_of(pod))]
    if len(ends) < seen.size:
        completed = seen.job.status.completionTime if seen.job and seen.job.status else None
        return None, completed
    started = [ended.startedAt for ended in ends if ended.startedAt]
    finished = [ended.finishedAt for ended in ends if ended.finishedAt]
    return min(started, default=None), max(finished, default=None)


def node_lost(node: str) -> End:
    """The end of an attempt whose node does not answer any more."""
    return End("NodeLost", f"node `{node}` was lost while it ran there")


def mark(pod: Pod, seen: Observed) -> tuple[str, str] | None:
    """Why the cluster ends a pod: a reason and a message; None if it does not, or not for others.

    The mark goes with the pod, so it is recorded in the status while the pod ends.
    """
    reason = disruption(pod, exit_of(pod))
    if reason == _BY_SCHEDULER:
        return PREEMPTED, preempted_by(seen)
    if reason == _BY_EVICTION:
        return EVICTED, f"its pod was evicted from node `{node_of(pod)}`, which may be drained"
    return None


def preempted_by(seen: Observed) -> str:
    """For whom an attempt is preempted, as far as that is known."""
    whom = f"GPUWorkload `{seen.preemptor}`" if seen.preemptor else "a pod"
    return f"preempted by {whom} of a higher priority"


def _failed(seen: Observed, failed: JobCondition) -> End:
    pod, status = culprit(seen), seen.item.status
    if failed.reason == "DeadlineExceeded":
        return End(failed.reason, "it took longer than spec.timeout allows", final=True)
    if seen.item.reason in UNCOUNTED:
        return End(seen.item.reason, str(status.get("message", "")))
    if pod is not None:
        end = _of_pod(pod, seen)
        return end.of_rank(rank_of(pod)) if seen.size > 1 else end
    if failed.reason == _POLICY:
        # Nobody has seen the pod: its mark says more than this.
        lost = [node for node in seen.item.chosen if node not in seen.nodes]
        return node_lost(lost[0]) if lost else End(PREEMPTED, preempted_by(seen))
    return _deleted()


def _deleted() -> End:
    return End("PodDeleted", "its pod was deleted before its program ended")


def _of_pod(pod: Pod, seen: Observed) -> End:
    """The end of an attempt whose pod has failed."""
    ended = exit_of(pod)
    said = (pod.status.reason if pod.status else None) or ""
    detail = shown((pod.status.message if pod.status else None) or "", LONGEST // 2)
    disrupted = disruption(pod, ended)
    times = (ended.startedAt, ended.finishedAt) if ended else (None, None)
    if told := mark(pod, seen):
        return End(*told)
    if disrupted in NODE_GONE or said in NODE_ENDED:
        return node_lost(node_of(pod))
    if disrupted or said == EVICTED:
        # Not for others: it has used more than it requested, or its node shuts down.
        return End("NodePressure", f"its node has ended the pod ({detail or disrupted or said})")
    if was_deleted(pod, ended) and not (ended and ended.reason == "OOMKilled"):
        return _deleted()
    if ended is None or ended.reason == UNKNOWN_EXIT:
        what = detail or said or "no details given"
        return End(
            "PodRejected", f"its node has rejected the pod, or cannot say how it ended ({what})"
        )
    reason, message = program_did(ended, _MEMORY)
    return End(reason, message[:LONGEST], False, False, ended.exitCode, *times)  # noqa: FBT003
