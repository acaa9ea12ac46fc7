"""Which pod of an attempt has failed: once one has, Kubernetes ends the others."""

from __future__ import annotations

from datetime import UTC, datetime

from lightkube.resources.core_v1 import Pod

from devctl_observer.judging.exits import DISRUPTED, asked_at, disruption, exit_of, was_deleted
from devctl_observer.judging.pods import pod_condition
from devctl_observer.kinds.gpu_workload.observed import Observed, rank_of

_NEVER = datetime.max.replace(tzinfo=UTC)


def culprit(seen: Observed) -> Pod | None:
    """The pod that failed first, as far as its node tells; None if none is known.

    One that was deleted is it only if none failed by itself.
    """
    there = {rank_of(pod) for pod in seen.pods}
    pods = [*seen.pods, *(pod for pod in seen.gone if rank_of(pod) not in there)]
    if seen.size == 1:
        return next(iter(pods), None)
    failed = [(failure, rank_of(pod), pod) for pod in pods if (failure := _failure(pod))]
    return min(failed, key=lambda found: found[:2])[2] if failed else None


def _failure(pod: Pod) -> tuple[bool, datetime] | None:
    """Whether a pod only failed because it was deleted, and when; None if it has not failed."""
    ended = exit_of(pod)
    finished = (ended.finishedAt if ended else None) or _NEVER
    if disruption(pod, ended):
        marked = pod_condition(pod, DISRUPTED)
        since = (marked.lastTransitionTime if marked else None) or _NEVER
        return False, min(since, finished)
    if was_deleted(pod, ended):
        return True, asked_at(pod) or _NEVER
    failed = (pod.status.phase if pod.status else None) == "Failed" or (ended and ended.exitCode)
    return (False, finished) if failed else None
