"""When a job's pods ran: what it is billed for, so an end that is recorded never changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lightkube.models.core_v1 import ContainerState, Pod

from devctl_observer.judging.clocks import Clocks, from_text, to_text
from devctl_observer.judging.exits import DISRUPTED, UNKNOWN_EXIT, asked_at
from devctl_observer.judging.model import meta_of
from devctl_observer.judging.pods import ends_at, has_ended, node_of, own_statuses, pod_condition

MAX_RUNS = 64
Run = Mapping[str, Any]
"""A run as the status has it."""


@dataclass(frozen=True)
class Evidence:
    """What is known of a job's pods."""

    clocks: Clocks
    """The current time; the API server's only after a look past the cache."""
    pods: Sequence[Pod] = ()
    """Those that the API server has, the oldest first."""
    gone: Sequence[Pod] = ()
    """The last states of others."""
    ready: frozenset[str] = field(default_factory=frozenset)
    """The nodes that are ready."""
    over: datetime | None = None
    """When its Job ended, and so the last of its pods; None if it has not."""


def merged(known: Sequence[Run], seen: Evidence) -> list[Run]:
    """The runs of a job: those that are recorded, and those of its pods.

    Args:
        known: Those that are recorded.
        seen: What is known of its pods.
    """
    there = {meta_of(pod.metadata).uid: pod for pod in seen.pods}
    last = {meta_of(pod.metadata).uid: pod for pod in seen.gone}
    runs = {str(run["podUID"]): run for run in known}
    for uid, pod in (last | there).items():
        if uid not in runs and (run := _begun(pod)):
            runs[uid] = run
    return [
        run if "finishedAt" in run else {**run, **_end(run, there.get(uid), last.get(uid), seen)}
        for uid, run in list(runs.items())[:MAX_RUNS]
    ]


def is_running(runs: Sequence[Run]) -> bool:
    """Whether a run has no end yet."""
    return any("finishedAt" not in run for run in runs)


def is_over(pod: Pod, seen: Evidence) -> bool:
    """Whether a pod runs no more, although its node may not have told when it ended."""
    until = ends_at(pod)
    lost = until is not None and seen.clocks.passed(until) and node_of(pod) not in seen.ready
    return lost or has_ended(pod)


def _begun(pod: Pod) -> Run | None:
    """The run of a pod whose program has started."""
    state, meta = _state(pod), meta_of(pod.metadata)
    told = (state.running or state.terminated) if state else None
    if told is None or told.startedAt is None:
        return None
    started = to_text(told.startedAt)
    return {"podUID": meta.uid, "podName": meta.name, "node": node_of(pod), "startedAt": started}


def _end(run: Run, pod: Pod | None, last: Pod | None, seen: Evidence) -> Run:
    """What is known of the end of a run; empty if it goes on, as far as is known."""
    told, now = pod or last, seen.clocks.theirs
    state = _state(told) if told else None
    ended = state.terminated if state else None
    if ended and ended.finishedAt and ended.reason != UNKNOWN_EXIT:
        if now is None and ended.finishedAt > seen.clocks.ours:
            return {}
        # A node's clock that is ahead makes no run end in the future.
        at = min(ended.finishedAt, now) if now else ended.finishedAt
        return _at(run, at) | {"exitCode": ended.exitCode}
    if now is None or (pod and not is_over(pod, seen)):
        return {}
    known = [now, _lost_at(told) if told else None, seen.over]
    return _at(run, min(at for at in known if at))


def _lost_at(pod: Pod) -> datetime | None:
    """When the cluster gave a pod up, by its own clock; None if it has not."""
    disrupted = pod_condition(pod, DISRUPTED)
    return asked_at(pod) or (disrupted.lastTransitionTime if disrupted else None)


def _at(run: Run, at: datetime) -> dict[str, Any]:
    """An end, which is not before the start: clocks differ."""
    started = from_text(run["startedAt"])
    return {"finishedAt": to_text(max(at, started) if started else at)}


def _state(pod: Pod) -> ContainerState | None:
    return next((status.state for status in own_statuses(pod)), None)
