"""How a job ended, from its Job and its last pod."""

from __future__ import annotations

from lightkube.models.batch_v1 import JobCondition
from lightkube.models.core_v1 import ContainerStateTerminated, Pod

from devctl.api.gpu_worker_job import Phase
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
from devctl_observer.judging.pods import has_ended, node_of
from devctl_observer.judging.printable import LONGEST, shown
from devctl_observer.kinds.gpu_worker_job.model import Outcome
from devctl_observer.kinds.gpu_worker_job.observed import Observed

_MEMORY = "submit it again with more memory_required"
_LATE = "DeadlineExceeded"
COMPLETED = Outcome(Phase.COMPLETED, "Completed", "its program succeeded", 0)


def judge_end(seen: Observed) -> Outcome | None:
    """How a job ended according to its Job; None if it has not."""
    if seen.job is None:
        return None
    if job_condition(seen.job, "Complete"):
        return COMPLETED
    failed = job_condition(seen.job, "Failed") or _failing(seen)
    return _failed(seen) if failed else None


def judge_success(pod: Pod | None) -> Outcome | None:
    """The success of a job whose Job is gone, and whose program had ended before; else None."""
    if pod is None or (pod.status.phase if pod.status else None) != "Succeeded":
        return None
    if was_deleted(pod, exit_of(pod)):
        return None
    return COMPLETED


def _failing(seen: Observed) -> JobCondition | None:
    """That a Job will have failed once its pods have ended, whose nodes are lost.

    Only their kubelets could confirm the end.
    """
    failing = job_condition(seen.job, "FailureTarget") if seen.job else None
    return None if goes_on(seen) else failing


def goes_on(seen: Observed) -> bool:
    """Whether a node that is ready has a pod that has not ended."""
    return any(node_of(pod) in seen.ready for pod in seen.pods if not has_ended(pod))


def _failed(seen: Observed) -> Outcome:
    if seen.last is None:
        return Outcome(Phase.FAILED, "PodDeleted", "its pod was deleted before its program ended")
    return _of_pod(seen.last)


def _of_pod(pod: Pod) -> Outcome:
    ended = exit_of(pod)
    if why := _cluster_did(pod, ended):
        return Outcome(Phase.FAILED, *why)
    reason, message = program_did(ended, _MEMORY)
    return Outcome(Phase.FAILED, reason, message[:LONGEST], ended.exitCode if ended else None)


def _cluster_did(pod: Pod, ended: ContainerStateTerminated | None) -> tuple[str, str] | None:
    """Why the cluster ended a pod; None if its program has ended."""
    said = (pod.status.reason if pod.status else None) or ""
    if said == _LATE:
        return _LATE, "its program took longer than timeout_seconds allows and was stopped"
    if why := _disrupted(pod, disruption(pod, ended), said):
        return why
    if was_deleted(pod, ended) and not (ended and ended.reason == "OOMKilled"):
        return "PodDeleted", "its pod was deleted before its program ended"
    if ended is None or ended.reason == UNKNOWN_EXIT:
        what = _detail(pod) or said or "no details given"
        return "PodRejected", f"its node has rejected the pod, or cannot say how it ended ({what})"
    return None


def _disrupted(pod: Pod, disrupted: str, said: str) -> tuple[str, str] | None:
    if disrupted in NODE_GONE or said in NODE_ENDED:
        return "NodeLost", f"node `{node_of(pod)}` was lost while it ran there"
    if disrupted == "PreemptionByScheduler":
        return "Preempted", "a pod of a higher priority needed its room"
    if disrupted or said == "Evicted":
        why = _detail(pod) or disrupted or said
        return "Evicted", f"its node has ended the pod ({why})"
    return None


def _detail(pod: Pod) -> str:
    return shown((pod.status.message if pod.status else None) or "", LONGEST // 2)
