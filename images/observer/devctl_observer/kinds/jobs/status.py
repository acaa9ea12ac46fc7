"""The whole status of a job, from everything that was observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from devctl.api.ephemeral_acceleration_job import Condition, Phase
from devctl_observer.judging.clocks import Clocks, from_text, to_text
from devctl_observer.judging.conditions import FALSE, TRUE, UNKNOWN, condition, merge
from devctl_observer.judging.pods import node_of
from devctl_observer.kinds.jobs import deadlines
from devctl_observer.kinds.jobs.endings import (
    judge_absence,
    judge_end,
    judge_lost,
    stop_of_absent,
)
from devctl_observer.kinds.jobs.model import Outcome
from devctl_observer.kinds.jobs.observed import Observed
from devctl_observer.kinds.jobs.waiting import judge_unfinished

OWN = [kind for kind in Condition if kind is not Condition.APPLIED]
_KEPT = (
    *("phase", "reason", "message", "startedAt", "finishedAt", "podName", "nodeName"),
    *("artifactPath", "exitCode"),
)
_WORDS = {Phase.SUCCEEDED: TRUE, Phase.FAILED: FALSE}


def judge(seen: Observed, clocks: Clocks) -> Outcome:
    """The state of a job without a recorded end; the result may be its end."""
    job, pod = seen.job, seen.pod
    if job.going:
        return judge_unfinished(seen)
    if pod is None:
        over = job.started or stop_of_absent(seen)
        return judge_absence(seen) if over else judge_unfinished(seen)
    return judge_end(pod, seen) or judge_lost(pod, seen, clocks) or judge_unfinished(seen)


def wants_proof(seen: Observed, clocks: Clocks) -> bool:
    """Whether an irreversible action is due, which must be checked past the cache."""
    job = seen.job
    if job.going:
        return False
    if not job.finished:
        return judge(seen, clocks).ended
    at = deadlines.times(job, deadlines.finished_at(job))
    if at is None:
        return False
    pod = not deadlines.pod_expired(job) and at.due(at.pod, clocks)
    return pod or (seen.claim is not None and at.due(at.artifacts, clocks))


def volume_is_due(seen: Observed, clocks: Clocks) -> bool:
    """Whether a job's claim has expired by its status and both clocks."""
    if seen.claim is None or clocks.theirs is None or seen.job.going:
        return False
    at = deadlines.times(seen.job, deadlines.finished_at(seen.job))
    return at is not None and at.due(at.artifacts, clocks)


def job_status(seen: Observed, clocks: Clocks, users: Sequence[str] = ()) -> dict[str, Any]:
    """The desired status; keys without a value are left out.

    Args:
        seen: The job and what was observed of its children.
        clocks: The current time; an end is recorded only if both clocks are known and agree.
        users: Pods that keep the volume from being deleted.
    """
    job = seen.job
    if job.finished:
        # The end is final.
        kept = {name: job.status[name] for name in _KEPT if name in job.status}
        return _whole(seen, kept, deadlines.finished_at(job), clocks, users)
    outcome = judge(seen, clocks)
    if outcome.ended and not (clocks.agree and (seen.listed or not outcome.absence)):
        outcome = _not_yet(outcome, started=job.started)
    finished = _finished(outcome, seen, clocks) if outcome.ended else None
    made = seen.pod is not None or job.status.get("podName")
    told = {
        "phase": str(outcome.phase),
        "reason": outcome.reason,
        "message": outcome.message,
        "startedAt": _text(_started(outcome, seen, clocks)),
        "finishedAt": _text(finished),
        "podName": seen.pod_name if made else None,
        # Kept, since a deleted pod has no node.
        "nodeName": (seen.pod and node_of(seen.pod)) or job.status.get("nodeName"),
        "artifactPath": job.spec.output.path if outcome.phase is Phase.SUCCEEDED else None,
        "exitCode": outcome.exit_code if outcome.ended else None,
    }
    return _whole(seen, told, finished, clocks, users)


def _not_yet(end: Outcome, *, started: bool) -> Outcome:
    """The outcome while the time of the end is uncertain."""
    return Outcome(
        Phase.RUNNING if started or end.started else Phase.PENDING,
        "Ending",
        "the job has ended, which is recorded once the clocks of the observer and the API server "
        "agree; if this persists, ask an administrator to check them",
        started=end.started,
    )


def _whole(
    seen: Observed,
    told: Mapping[str, Any],
    finished: datetime | None,
    clocks: Clocks,
    users: Sequence[str],
) -> dict[str, Any]:
    """The status with what follows from the end: deadlines and conditions."""
    job = seen.job
    phase = Phase(str(told["phase"]))
    reason, message = str(told.get("reason") or phase), str(told.get("message", ""))
    wanted = [condition(Condition.SUCCEEDED, _WORDS.get(phase, UNKNOWN), reason, message)]
    at = deadlines.times(job, finished)
    if phase in _WORDS:
        wanted += [
            deadlines.artifacts_condition(seen, at, clocks, users),
            deadlines.pod_condition(job, at, clocks),
        ]
    status = {
        **told,
        "observedGeneration": job.metadata.generation,
        "podExpiresAt": _text(at.pod) if at else None,
        "artifactsExpireAt": _text(at.artifacts) if at else None,
        "conditions": merge(wanted, job, clocks.ours),
    }
    return {name: value for name, value in status.items() if value is not None}


def _started(outcome: Outcome, seen: Observed, clocks: Clocks) -> datetime | None:
    """When its program started: not before its pod was created, and not in the future."""
    stored = from_text(seen.job.status.get("startedAt"))
    if stored and not (outcome.ended and outcome.started):
        return stored
    if outcome.started is None:
        return None
    made, started = _made(seen), min(outcome.started, clocks.latest)
    return max(started, made) if made else started


def _finished(outcome: Outcome, seen: Observed, clocks: Clocks) -> datetime:
    """When it ended: not before its start, and not in the future; now if unknown."""
    first = [_started(outcome, seen, clocks), _made(seen), outcome.finished or clocks.latest]
    return min(max(known for known in first if known), clocks.latest)


def _made(seen: Observed) -> datetime | None:
    metadata = seen.pod.metadata if seen.pod else None
    return metadata.creationTimestamp if metadata else None


def _text(at: datetime | None) -> str | None:
    return to_text(at) if at else None
