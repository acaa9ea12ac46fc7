"""How a job ended, from its pod or from the pod's absence."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lightkube.models.core_v1 import ContainerStateTerminated, Pod

from devctl.api.ephemeral_acceleration_job import Phase
from devctl.api.queues import QUEUE_NAME
from devctl.api.workloads import PREEMPTED, STOPPED, STOPPED_BY_PREEMPTION
from devctl_observer.judging.clocks import Clocks
from devctl_observer.judging.exits import (
    NODE_ENDED,
    NODE_GONE,
    UNKNOWN_EXIT,
    disruption,
    exit_of,
    program_did,
    started_at,
    was_deleted,
)
from devctl_observer.judging.model import labels_of
from devctl_observer.judging.pods import ends_at, node_of, pod_condition
from devctl_observer.judging.printable import LONGEST, shown
from devctl_observer.judging.queueing import preempted_because
from devctl_observer.kinds.jobs.model import Outcome
from devctl_observer.kinds.jobs.observed import Observed

COMPLETED = "Job completed successfully"
_AGAIN = "create a job with another name"
DELETED = f"its pod was deleted while its program ran; to run it again, {_AGAIN}"
LOST = f"node `{{}}` was lost while the program ran; to run it again, {_AGAIN}"
NEVER_HEARD = f"node `{{}}` was lost before it reported whether the program started; to run it, \
{_AGAIN}"
_MEMORY = f"{_AGAIN} and more spec.resources.memory"
_EVICTED = "Evicted"
STOPS = frozenset({PREEMPTED, _EVICTED})
"""Reasons of jobs that Kueue stops; those of running jobs are those of their ends."""
_NO_CODE = {"NodeLost", "PodDeleted", "PodRejected", PREEMPTED}
"""Reasons for which the exit code is meaningless, and not always known."""


def judge_end(pod: Pod, seen: Observed) -> Outcome | None:
    """How a pod ended; None if it has not, or if another one will replace it.

    A kubelet reports a pod that was deleted before its program ran as failed: the job continues.
    """
    status = pod.status
    if status is None or status.phase not in {"Succeeded", "Failed"}:
        return None
    ended = exit_of(pod)
    stopped = stop(pod, seen)
    if status.phase == "Succeeded" and not stopped:
        return _outcome(Phase.SUCCEEDED, "Completed", COMPLETED, ended)
    ran = seen.job.started or started_at(pod) is not None
    if not ran and not stopped and ends_at(pod):
        return None
    reason, message = stopped or _cluster_did(pod, ended, ran=ran) or program_did(ended, _MEMORY)
    return _outcome(Phase.FAILED, reason, message, ended)


def judge_lost(pod: Pod, seen: Observed, clocks: Clocks) -> Outcome | None:
    """The end of a job whose pod should have terminated by now, if its node is lost.

    The API keeps the pod of a dead node, because only its kubelet could confirm the end. The
    program may have started unnoticed, so a replacement could run it a second time.
    """
    until, node = ends_at(pod), node_of(pod)
    if not node or node in seen.nodes or until is None or not clocks.passed(until):
        return None
    started = started_at(pod)
    return _gone(node, started, ran=bool(started) or seen.job.started)


def judge_absence(seen: Observed) -> Outcome:
    """The end of a job whose program ran and whose pod is gone.

    The pod's last observed state may say how it ended.
    """
    if seen.last and (told := judge_end(seen.last, seen)):
        return replace(told, absence=True)
    if stopped := stop_of_absent(seen):
        started = started_at(seen.last) if seen.last else None
        return Outcome(Phase.FAILED, *stopped, started, absence=True)
    status = seen.job.status
    node = str(status.get("nodeName", ""))
    if node and (node not in seen.nodes or status.get("reason") == "NodeNotReady"):
        return _gone(node)
    return Outcome(Phase.FAILED, "PodDeleted", DELETED, absence=True)


def stop(pod: Pod, seen: Observed) -> tuple[str, str] | None:
    """Why Kueue stops a job's pod: a reason and a message; None if it does not.

    Kueue marks a pod and then deletes it. No pod replaces it, as it could be preempted forever.
    """
    if QUEUE_NAME not in labels_of(pod):
        return None
    found = pod_condition(pod, STOPPED)
    if found is None or found.status != "True":
        return _stop_without_mark(pod, seen)
    ended, since = exit_of(pod), found.lastTransitionTime
    if ended and ended.finishedAt and since and ended.finishedAt < since:
        return None
    if found.reason != STOPPED_BY_PREEMPTION:
        detail = shown(found.message or found.reason or "no details given", LONGEST // 2)
        return _EVICTED, f"its queue has stopped it ({detail}); {_again(seen)}"
    # Kueue's report may be gone before the pod is.
    unknown = PREEMPTED, f"preempted because its quota was needed; {_again(seen)}"
    return _reported_stop(seen) or _stored_stop(seen) or unknown


def _stop_without_mark(pod: Pod, seen: Observed) -> tuple[str, str] | None:
    """The same, as the pod is being deleted: others who write its status may lose Kueue's mark."""
    if not ends_at(pod):
        return None
    # Kueue does not delete what it has not started.
    gated = pod.spec and pod.spec.schedulingGates
    return (None if gated else _reported_stop(seen)) or _stored_stop(seen)


def _reported_stop(seen: Observed) -> tuple[str, str] | None:
    """A preemption according to Kueue's report on the pod."""
    if not seen.queued or not seen.queued.preempted:
        return None
    return PREEMPTED, f"{preempted_because(seen.queued.preempted)}; {_again(seen)}"


def _again(seen: Observed) -> str:
    name = seen.job.metadata.name
    return f"its volume is kept; delete it with `egpu delete {name}` and create it to run it again"


def stop_of_absent(seen: Observed) -> tuple[str, str] | None:
    """Why Kueue has stopped a job whose pod is gone; None if it has not."""
    return (stop(seen.last, seen) if seen.last else None) or _stored_stop(seen)


def _stored_stop(seen: Observed) -> tuple[str, str] | None:
    """The same as last reported, for as long as the job has not ended."""
    status = seen.job.status
    reason = str(status.get("reason", ""))
    return (reason, str(status.get("message", ""))) if reason in STOPS else None


def _gone(node: str, started: datetime | None = None, *, ran: bool = True) -> Outcome:
    message = (LOST if ran else NEVER_HEARD).format(node)
    return Outcome(Phase.FAILED, "NodeLost", message, started, absence=True)


def _outcome(
    phase: Phase, reason: str, message: str, ended: ContainerStateTerminated | None
) -> Outcome:
    return Outcome(
        phase,
        reason,
        message[:LONGEST],
        started=ended.startedAt if ended else None,
        finished=ended.finishedAt if ended else None,
        exit_code=ended.exitCode if ended and reason not in _NO_CODE else None,
    )


def _cluster_did(
    pod: Pod, ended: ContainerStateTerminated | None, *, ran: bool
) -> tuple[str, str] | None:
    """Why the cluster ended a pod; None if it did not."""
    said = (pod.status.reason if pod.status else None) or ""
    detail = shown((pod.status.message if pod.status else None) or "", LONGEST // 2)
    disrupted = disruption(pod, ended)
    unknown = ended is not None and ended.reason == UNKNOWN_EXIT
    if said == "DeadlineExceeded":
        return said, "it took longer than spec.activeDeadlineSeconds allows and was stopped"
    if disrupted in NODE_GONE or said in NODE_ENDED:
        return "NodeLost", LOST.format(node_of(pod))
    if said == "Evicted" or disrupted:
        why = detail or disrupted or said
        return _EVICTED, f"its pod was evicted ({why}); {_AGAIN} that requests enough resources"
    if ran and was_deleted(pod, ended) and not (ended and ended.reason == "OOMKilled"):
        return "PodDeleted", DELETED
    if ended is None or unknown:
        return _never_said(pod, detail or said or "no details given", ran=ran)
    return None


def _never_said(pod: Pod, why: str, *, ran: bool) -> tuple[str, str]:
    """The end of a pod whose node cannot say how its program ended."""
    if ran:
        return "NodeLost", LOST.format(node_of(pod))
    return "PodRejected", f"its node rejected the pod ({why}); {_AGAIN}"
