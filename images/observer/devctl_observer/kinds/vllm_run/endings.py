"""How a run ended, from its pod or from the pod's absence."""

from __future__ import annotations

from dataclasses import replace

from lightkube.models.core_v1 import ContainerStateTerminated, Pod

from devctl.api.vllm_run import Phase
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
from devctl_observer.judging.pods import ends_at, node_of
from devctl_observer.judging.printable import LONGEST, shown
from devctl_observer.kinds.vllm_run.checkout import FAILED, judge_checkout
from devctl_observer.kinds.vllm_run.model import Outcome
from devctl_observer.kinds.vllm_run.observed import Observed

AGAIN = "to run it again, delete and create it"
_MEMORY = "create it again with more spec.resources.memory"
_NO_CODE = {FAILED, "NodeLost", "PodDeleted", "PodRejected", "Preempted"}
"""Reasons for which an exit code is meaningless."""


def judge_end(pod: Pod, seen: Observed) -> Outcome | None:
    """How a pod ended; None if it has not, or if another one will replace it.

    A kubelet reports a pod that was deleted before its program ran as failed: the run continues.
    """
    status = pod.status
    if status is None or status.phase not in {"Succeeded", "Failed"}:
        return None
    ended = exit_of(pod)
    if status.phase == "Succeeded":
        return _outcome(Phase.SUCCEEDED, "Completed", "its program succeeded", ended)
    ran = seen.run.started or started_at(pod) is not None
    if not ran and ends_at(pod):
        return None
    did = _cluster_did(pod, ended) or judge_checkout(pod) or program_did(ended, _MEMORY)
    outcome = _outcome(Phase.FAILED, *did, ended)
    # What makes the checkout is not the program.
    return outcome if started_at(pod) else replace(outcome, started=None)


def judge_lost(pod: Pod, seen: Observed, clocks: Clocks) -> Outcome | None:
    """The end of a run whose pod should be gone by now, if its node is lost.

    The API keeps the pod of a dead node, because only its kubelet could confirm the end.
    """
    until, node = ends_at(pod), node_of(pod)
    if not node or node in seen.nodes or until is None or not clocks.passed(until):
        return None
    return Outcome(Phase.FAILED, "NodeLost", _lost(node), started_at(pod))


def judge_absence(seen: Observed) -> Outcome:
    """The end of a run whose program ran and whose pod is gone.

    The pod's last observed state may say how it ended.
    """
    if seen.last and (told := judge_end(seen.last, seen)):
        return replace(told, absence=True)
    node = str(seen.run.status.get("node", ""))
    if node and node not in seen.nodes:
        return Outcome(Phase.FAILED, "NodeLost", _lost(node), absence=True)
    message = f"its pod was deleted while its program ran; {AGAIN}"
    return Outcome(Phase.FAILED, "PodDeleted", message, absence=True)


def _cluster_did(pod: Pod, ended: ContainerStateTerminated | None) -> tuple[str, str] | None:
    """Why the cluster ended a pod; None if it did not."""
    said = (pod.status.reason if pod.status else None) or ""
    detail = shown((pod.status.message if pod.status else None) or "", LONGEST // 2)
    disrupted = disruption(pod, ended)
    if disrupted in NODE_GONE or said in NODE_ENDED:
        return "NodeLost", _lost(node_of(pod))
    if disrupted == "PreemptionByScheduler":
        return "Preempted", f"a pod of a higher priority needed its room; {AGAIN}"
    if disrupted or said == "Evicted":
        return "Evicted", f"its node has ended the pod ({detail or disrupted or said}); {AGAIN}"
    if was_deleted(pod, ended) and not (ended and ended.reason == "OOMKilled"):
        return "PodDeleted", f"its pod was deleted while its program ran; {AGAIN}"
    if ended is None or ended.reason == UNKNOWN_EXIT:
        what = detail or said or "no details given"
        return "PodRejected", f"its node rejected the pod, or cannot say how it ended ({what})"
    return None


def _lost(node: str) -> str:
    return f"node `{node}` was lost while the program ran there; {AGAIN}"


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
