"""When a GPUWorkerJob is to be looked at again, and whether that must be past the cache."""

from __future__ import annotations

from datetime import timedelta

from devctl_observer.judging.clocks import Clocks
from devctl_observer.judging.pods import ends_at
from devctl_observer.kinds.gpu_worker_job.observed import Observed
from devctl_observer.kinds.gpu_worker_job.runs import is_running, merged
from devctl_observer.kinds.gpu_worker_job.state import judge

_MARGIN = timedelta(seconds=1)
"""Added to waits, because timers may fire slightly early."""


def wants_proof(seen: Observed, clocks: Clocks) -> bool:
    """Whether something irreversible is due: an end, or the removal of an expired Job."""
    item = seen.item
    if item.going:
        return False
    if _is_doubtful(seen, clocks):
        return True
    if not item.finished:
        return judge(seen, clocks).ended
    at = item.expires_at
    return at is not None and clocks.passed(at) and not item.expired


def next_look(seen: Observed, clocks: Clocks) -> timedelta | None:
    """How long until time alone changes the status; zero if it should have, None for never."""
    item, now = seen.item, clocks.ours
    if item.going:
        return None
    if item.finished:
        at = None if item.expired else item.expires_at
    else:
        outcome = judge(seen, clocks)
        if outcome.ended:
            return timedelta(0)
        ends = [outcome.fails_at, *(ends_at(pod) for pod in seen.pods)]
        at = min((each for each in ends if each), default=None)
    if at is None:
        return None
    return at - now + _MARGIN if at > now else timedelta(0)


def _is_doubtful(seen: Observed, clocks: Clocks) -> bool:
    """Whether a run would have an end if the API server's time were known."""
    runs = merged(seen.item.runs, seen.evidence(Clocks(clocks.ours)))
    if not is_running(runs):
        return False
    return runs != merged(runs, seen.evidence(Clocks(clocks.ours, clocks.ours)))
