"""The whole status of a GPUWorkload: the next step of its attempts and retries.

What has been counted is in the status, and each step writes all of it at once: a restart at any
moment repeats or skips nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from devctl.api.conditions import find
from devctl.api.gpu_workload import UNKNOWN_STRATEGY, Condition, Phase
from devctl_observer.judging.clocks import Clocks, from_text, to_text
from devctl_observer.judging.conditions import FALSE, TRUE, UNKNOWN, condition, merge
from devctl_observer.kinds.gpu_workload.attempts import judge_attempt
from devctl_observer.kinds.gpu_workload.backoff import pause
from devctl_observer.kinds.gpu_workload.endings import UNCOUNTED, End, judge_end
from devctl_observer.kinds.gpu_workload.model import GPUWorkload
from devctl_observer.kinds.gpu_workload.observed import Observed
from devctl_observer.kinds.gpu_workload.ongoing import Ongoing, by_rank
from devctl_observer.kinds.gpu_workload.placement import Choice, told_chosen

OWN = [kind for kind in Condition if kind is not Condition.APPLIED]
NO_NODE = "NoSuitableNode"
STOPPED = "Stopped"
CONTESTED = "Contested"
_COUNTED = ("considered", "attempt", "retryCount", "lastScheduleTime", "exitCode")
"""Fields that stay from one step to the next."""
_OF_ATTEMPT = ("assignedNode", "assignedNodes", "jobName", "startedAt")
_END = ("phase", "reason", "message", "finishedAt", *_COUNTED, *_OF_ATTEMPT)
_WORDS = {Phase.SUCCEEDED: TRUE, Phase.FAILED: FALSE}

Step = dict[str, Any]
"""Fields of a status, without conditions."""


def workload_status(seen: Observed, clocks: Clocks, choose: Callable[[], Choice]) -> dict[str, Any]:
    """The desired status; keys without a value are left out.

    Args:
        seen: The workload and what was observed of its attempt.
        clocks: The current time; Jobs expire only by the API server's as well.
        choose: Chooses a node now, if one is due.
    """
    step = next_step(seen, clocks.ours, choose)
    item, phase = seen.item, Phase(step["phase"])
    reason, message = str(step["reason"]), str(step["message"])
    wanted = [condition(Condition.SUCCEEDED, _WORDS.get(phase, UNKNOWN), reason, message)]
    if at := expires_at(item, step):
        wanted.append(_expiry(item, at, clocks))
    status = {
        **step,
        "observedGeneration": item.metadata.generation,
        "conditions": merge(wanted, item, clocks.ours),
    }
    return {name: value for name, value in status.items() if value is not None}


def next_step(seen: Observed, now: datetime, choose: Callable[[], Choice]) -> Step:
    """What becomes of a workload now."""
    item = seen.item
    if item.finished:
        return {name: item.status.get(name) for name in _END}
    if item.going:
        return _told(item, item.phase, "Deleting", "it is being deleted", **_current(item))
    if item.spec.stopped:
        return _stopped(seen, now)
    if not item.in_attempt:
        return _waiting(item, now, choose)
    found = judge_attempt(seen, now)
    return _ended(seen, found, now) if isinstance(found, End) else _ongoing(seen, found)


def _ongoing(seen: Observed, found: Ongoing) -> Step:
    item = seen.item
    name = item.job_name if seen.job else None
    # In a queue, the earlier choice is history; so is that of a pod that found another node.
    chosen = item.chosen if found.phase is not Phase.PENDING else ()
    nodes = by_rank(found.nodes or [found.node] * seen.size, chosen)
    told = _told(
        item,
        *found[:3],
        jobName=name,
        startedAt=to_text(found.started) if found.started else None,
    )
    return told | assigned(nodes)


def assigned(nodes: Sequence[str]) -> Step:
    """The fields of the nodes of an attempt, by rank; several are told once all are known."""
    every = len(nodes) > 1 and all(nodes)
    return {
        "assignedNode": (nodes[0] if nodes else "") or None,
        "assignedNodes": list(nodes) if every else None,
    }


def _ended(seen: Observed, end: End, now: datetime) -> Step:
    item, policy = seen.item, seen.item.spec.retry_policy
    code = {"exitCode": end.exit_code if end.exit_code is not None else item.status.get("exitCode")}
    if end.succeeded:
        return _finished(seen, end, now, Phase.SUCCEEDED, end.message) | code
    if end.reason in UNCOUNTED:
        again = f"{end.message}; it starts again once a node is suitable"
        return _told(item, Phase.PENDING, end.reason, again) | code
    if end.final or item.retries >= policy.max_retries:
        retries = "1 retry" if item.retries == 1 else f"{item.retries} retries"
        after = f" (after {retries})" if item.retries else ""
        return _finished(seen, end, now, Phase.FAILED, f"{end.message}{after}") | code
    at = now + pause(policy.backoff_seconds, item.retries, item.metadata.uid)
    number = item.retries + 1
    message = f"{end.message}; retry {number} of {policy.max_retries} at {to_text(at)}"
    told = _told(item, Phase.PENDING, end.reason, message)
    return told | code | {"retryCount": number, "nextRetryAt": _whole(at)}


def _waiting(item: GPUWorkload, now: datetime, choose: Callable[[], Choice]) -> Step:
    """Between attempts: nothing is left of the earlier one but what has been counted."""
    at = from_text(item.status.get("nextRetryAt"))
    if at and now < at:
        kept = {"nextRetryAt": item.status.get("nextRetryAt")}
        return _told(item, Phase.PENDING, item.reason, str(item.status.get("message", "")), **kept)
    choice = choose()
    shown: Step = {"considered": list(choice.considered) or None}
    if choice.unknown:
        return _told(item, Phase.FAILED, UNKNOWN_STRATEGY, choice.problem)
    if choice.nodes or item.spec.queue_name:
        chosen = told_chosen(choice.nodes) or "no node is free yet"
        told = _told(
            *(item, Phase.SCHEDULING, "Scheduling", f"{chosen}; its Job is about to be created"),
            attempt=item.attempt + 1,
            lastScheduleTime=to_text(now),
        )
        return told | assigned(choice.nodes) | shown
    if item.reason in UNCOUNTED:
        message = str(item.status.get("message", ""))
        return _told(item, Phase.PENDING, item.reason, message, **shown)
    if choice.contested:
        message = "the last free GPUs may be needed by workloads that were chosen before"
        return _told(item, Phase.PENDING, CONTESTED, message, **shown)
    return _ended(Observed(item), End(NO_NODE, choice.problem), now) | shown


def _stopped(seen: Observed, now: datetime) -> Step:
    item = seen.item
    ended = judge_end(seen) if item.in_attempt else None
    if ended and ended.succeeded:
        return _ended(seen, ended, now)
    message = "spec.stopped is set: set it to false to start another attempt"
    return _told(item, Phase.PENDING, STOPPED, message)


def _finished(seen: Observed, end: End, now: datetime, phase: Phase, message: str) -> Step:
    """The final state: its program ended when its node says so, but not in the future."""
    item = seen.item
    current = _current(item)
    if end.started:
        current["startedAt"] = to_text(end.started)
    if seen.job:
        current["jobName"] = item.job_name
    finished = min(end.finished, now) if end.finished else now
    return _told(item, phase, end.reason, message, finishedAt=to_text(finished), **current)


def _current(item: GPUWorkload) -> Step:
    """What is known of the current attempt."""
    return {name: item.status.get(name) for name in _OF_ATTEMPT}


def _told(item: GPUWorkload, phase: Phase, reason: str, message: str, **more: Any) -> Step:
    kept: Step = {"retryCount": 0} | {
        name: item.status[name] for name in _COUNTED if name in item.status
    }
    return kept | {"phase": str(phase), "reason": reason, "message": message} | more


def _whole(at: datetime) -> str:
    """A time in whole seconds, rounded up: no retry is early."""
    return to_text(at + timedelta(seconds=1) if at.microsecond else at)


def expires_at(item: GPUWorkload, status: Mapping[str, Any]) -> datetime | None:
    """When the Jobs of a finished workload are no longer kept; None if they are kept for good."""
    finished, seconds = from_text(status.get("finishedAt")), item.spec.ttl_seconds_after_finished
    if finished is None or seconds is None:
        return None
    return finished + timedelta(seconds=seconds)


def has_expired(item: GPUWorkload) -> bool:
    """Whether the status tells the role to remove the Jobs."""
    return find(item.status, Condition.JOBS_EXPIRED).get("status") == TRUE


def _expiry(item: GPUWorkload, at: datetime, clocks: Clocks) -> dict[str, Any]:
    """The condition JobsExpired, which remains True once it is."""
    if has_expired(item) or (clocks.theirs is not None and clocks.passed(at)):
        message = "spec.ttlSecondsAfterFinished has passed: the operator removes its Jobs"
        return condition(Condition.JOBS_EXPIRED, TRUE, "Expired", message)
    message = f"its Jobs are kept until {to_text(at)}"
    return condition(Condition.JOBS_EXPIRED, FALSE, "Kept", message)
