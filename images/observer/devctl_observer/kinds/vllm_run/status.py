"""The whole status of a VLLMRun, from everything that was observed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from devctl.api.conditions import find
from devctl.api.vllm_run import Condition, Phase, claim_name, pod_name, url_of
from devctl_observer.judging.clocks import Clocks, from_text, to_text
from devctl_observer.judging.conditions import FALSE, TRUE, UNKNOWN, condition, merge, word
from devctl_observer.judging.devices import Gpu
from devctl_observer.judging.pods import node_of
from devctl_observer.judging.printable import LONGEST
from devctl_observer.kinds.vllm_run.caches import cache_of
from devctl_observer.kinds.vllm_run.endings import AGAIN, judge_absence, judge_end, judge_lost
from devctl_observer.kinds.vllm_run.model import Outcome, VLLMRun
from devctl_observer.kinds.vllm_run.observed import Observed
from devctl_observer.kinds.vllm_run.waiting import judge_unfinished

OWN = [kind for kind in Condition if kind is not Condition.APPLIED]
TIMED_OUT = "TimedOut"
_KEPT = (
    *("phase", "reason", "message", "gpus", "podName", "node", "devices"),
    *("startedAt", "servedAt", "finishedAt", "exitCode", "cache"),
)
_WORDS = {Phase.SUCCEEDED: TRUE, Phase.FAILED: FALSE}
_UP = {Phase.SERVING, Phase.RUNNING}


def judge(seen: Observed, clocks: Clocks) -> Outcome:
    """The state of a run without a recorded end; the result may be its end."""
    run, pod = seen.run, seen.pod
    if run.going:
        return judge_unfinished(seen)
    if pod is None and seen.began:
        return judge_absence(seen)
    ended = (judge_end(pod, seen) or judge_lost(pod, seen, clocks)) if pod else None
    return ended or _in_time(judge_unfinished(seen), run, clocks)


def _in_time(found: Outcome, run: VLLMRun, clocks: Clocks) -> Outcome:
    """The same, unless it has taken too long to start."""
    if found.until and clocks.passed(found.until):
        return replace(found, phase=Phase.FAILED, message=f"{found.message}; {AGAIN}"[:LONGEST])
    if found.started or run.start_by is None:
        return found
    if not clocks.passed(run.start_by):
        return replace(found, until=min(filter(None, [found.until, run.start_by])))
    message = f"it did not start within spec.timeout ({run.spec.timeout}): {found.message}"[
        :LONGEST
    ]
    return Outcome(Phase.FAILED, TIMED_OUT, message, found.started)


def run_status(seen: Observed, clocks: Clocks) -> dict[str, Any]:
    """The desired status; keys without a value are left out.

    Args:
        seen: The run and what was observed of its children.
        clocks: The current time; an end and an expiry are recorded only once the API server's is
            known, after a look past the cache.
    """
    run = seen.run
    if run.finished:
        # The end is final.
        kept = {name: run.status[name] for name in _KEPT if name in run.status}
        held = {"claimName": claim_name(run.metadata.name)} if seen.claim else {}
        return _whole(run, kept | held, clocks)
    outcome = judge(seen, clocks)
    if outcome.ended and clocks.theirs is None:
        before = run.phase, run.status.get("reason"), run.status.get("message")
        outcome = Outcome(before[0], str(before[1] or "Ending"), str(before[2] or "it has ended"))
    return _whole(run, _told(seen, outcome, clocks.ours), clocks)


def _told(seen: Observed, outcome: Outcome, now: datetime) -> dict[str, Any]:
    run, status = seen.run, seen.run.status
    serves = outcome.phase is Phase.SERVING
    started = outcome.started or from_text(status.get("startedAt"))
    served = from_text(status.get("servedAt")) or (now if serves else None)
    finished = min(outcome.finished or now, now) if outcome.ended else None
    before = status if started else {}
    meta, port = run.metadata, run.spec.port
    return {
        "phase": str(outcome.phase),
        "reason": outcome.reason,
        "message": outcome.message,
        "gpus": run.gpus,
        "claimName": claim_name(meta.name) if seen.claim else status.get("claimName"),
        "podName": pod_name(meta.name) if seen.pod else status.get("podName"),
        "node": _node(seen) or before.get("node"),
        "devices": [device(gpu) for gpu in seen.gpus] or before.get("devices"),
        "cache": cache_of(seen),
        "url": url_of(meta.name, meta.namespace, port) if serves else None,
        "startedAt": _text(min(started, now) if started else None),
        "servedAt": _text(served),
        "finishedAt": _text(finished),
        "exitCode": outcome.exit_code,
    }


def device(gpu: Gpu) -> dict[str, Any]:
    """A GPU as status shows it."""
    found = {
        "name": gpu.device,
        "node": gpu.node,
        "index": gpu.number,
        "uuid": gpu.uuid or None,
        "model": gpu.model or None,
        "madeUp": gpu.made_up or None,
        "unhealthy": gpu.unhealthy or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _node(seen: Observed) -> str:
    """The node of its pod; before it has one, that of its GPUs."""
    return (node_of(seen.pod) if seen.pod else "") or next((h.node for h in seen.held), "")


def _whole(run: VLLMRun, told: Mapping[str, Any], clocks: Clocks) -> dict[str, Any]:
    """The status with its conditions."""
    phase, reason = Phase(str(told["phase"])), str(told["reason"])
    message = str(told.get("message", ""))
    wanted = [
        condition(Condition.SUCCEEDED, _WORDS.get(phase, UNKNOWN), reason, message),
        condition(Condition.READY, word(phase in _UP), reason, message),
    ]
    if told.get("finishedAt") and run.finished and (at := run.expires_at):
        wanted.append(_expiry(run, at, clocks))
    status = {
        **told,
        "observedGeneration": run.metadata.generation,
        "conditions": merge(wanted, run, clocks.ours),
    }
    return {name: value for name, value in status.items() if value is not None}


def has_expired(run: VLLMRun) -> bool:
    """Whether the status tells the role to remove the pod."""
    return find(run.status, Condition.POD_EXPIRED).get("status") == TRUE


def _expiry(run: VLLMRun, at: datetime, clocks: Clocks) -> dict[str, Any]:
    """The condition PodExpired, which remains True once it is."""
    if has_expired(run) or (clocks.theirs is not None and clocks.passed(at)):
        message = "spec.ttlSecondsAfterFinished has passed: the operator removes its pod"
        return condition(Condition.POD_EXPIRED, TRUE, "Expired", message)
    message = f"its pod is kept until {to_text(at)}"
    return condition(Condition.POD_EXPIRED, FALSE, "Kept", message)


def _text(at: datetime | None) -> str | None:
    return to_text(at) if at else None
