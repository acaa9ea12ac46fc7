"""The whole status of a GPUWorkerJob, from everything that was observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from devctl.api.gpu_worker_job import Condition, Phase
from devctl_observer.judging.clocks import Clocks, to_text
from devctl_observer.judging.conditions import FALSE, TRUE, UNKNOWN, condition, merge
from devctl_observer.judging.model import meta_of
from devctl_observer.judging.pods import node_of
from devctl_observer.kinds.gpu_worker_job.model import GPUWorkerJob, Outcome
from devctl_observer.kinds.gpu_worker_job.observed import Observed
from devctl_observer.kinds.gpu_worker_job.runs import Run, is_running, merged
from devctl_observer.kinds.gpu_worker_job.state import judge

OWN = [kind for kind in Condition if kind is not Condition.APPLIED]
_WORDS = {Phase.COMPLETED: TRUE, Phase.FAILED: FALSE, Phase.CANCELLED: FALSE}
_FINAL = ("phase", "reason", "message", "podName", "jobName", "node")
_ENDS = ("startedAt", "finishedAt", "exitCode")


def job_status(seen: Observed, clocks: Clocks) -> dict[str, Any]:
    """The desired status; keys without a value are left out.

    Args:
        seen: The job and what was observed of its Job.
        clocks: The current time. What is irreversible (an end, of a run too, that no node has told,
            and an expiry) is recorded only once the API server's time is known, after a look past
            the cache.
    """
    item = seen.item
    runs = merged(item.runs, seen.evidence(clocks))
    if item.finished:
        told = {name: item.status.get(name) for name in (*_FINAL, *_ENDS)}
        return _whole(item, told | {"runs": runs or None}, clocks)
    outcome = judge(seen, clocks)
    # Of what has ended, all is known, or it is not told yet.
    if outcome.ended and (clocks.theirs is None or is_running(runs)):
        outcome = Outcome(item.phase, "Ending", "its end is being recorded")
    last = seen.last
    told = {
        "phase": str(outcome.phase),
        "reason": outcome.reason,
        "message": outcome.message,
        "podName": meta_of(last.metadata).name if last else item.status.get("podName"),
        "node": (node_of(last) if last else "") or item.status.get("node"),
        "jobName": meta_of(seen.job.metadata).name if seen.job else item.status.get("jobName"),
        "runs": runs or None,
        "startedAt": min((run["startedAt"] for run in runs), default=None),
        "finishedAt": _finished(runs, outcome, clocks),
        "exitCode": outcome.exit_code,
    }
    return _whole(item, told, clocks)


def _finished(runs: Sequence[Run], outcome: Outcome, clocks: Clocks) -> str | None:
    if not outcome.ended:
        return None
    ends = [run["finishedAt"] for run in runs]
    return max(ends, default=to_text(clocks.theirs or clocks.ours))


def _whole(item: GPUWorkerJob, told: Mapping[str, Any], clocks: Clocks) -> dict[str, Any]:
    """The status with its conditions."""
    phase = Phase(str(told["phase"]))
    reason, message = str(told["reason"]), str(told["message"])
    wanted = [condition(Condition.SUCCEEDED, _WORDS.get(phase, UNKNOWN), reason, message)]
    if item.finished and (at := item.expires_at):
        due = item.expired or (clocks.theirs is not None and clocks.passed(at))
        word = "the operator removes its Job" if due else f"its Job is kept until {to_text(at)}"
        status = TRUE if due else FALSE
        wanted.append(condition(Condition.JOB_EXPIRED, status, "Expired" if due else "Kept", word))
    status_ = {
        **told,
        "observedGeneration": item.metadata.generation,
        "conditions": merge(wanted, item, clocks.ours),
    }
    return {name: value for name, value in status_.items() if value is not None}
