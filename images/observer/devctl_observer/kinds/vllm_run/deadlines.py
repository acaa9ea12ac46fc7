"""When a VLLMRun is to be looked at again, and whether that must be past the cache."""

from __future__ import annotations

from datetime import timedelta

from devctl_observer.judging.clocks import Clocks
from devctl_observer.judging.pods import ends_at
from devctl_observer.kinds.vllm_run.observed import Observed
from devctl_observer.kinds.vllm_run.status import has_expired, judge

_MARGIN = timedelta(seconds=1)
"""Added to waits, because timers may fire slightly early."""


def wants_proof(seen: Observed, clocks: Clocks) -> bool:
    """Whether something irreversible is due: an end, or the removal of an expired pod."""
    run = seen.run
    if run.going:
        return False
    if not run.finished:
        return judge(seen, clocks).ended
    at = run.expires_at
    return at is not None and clocks.passed(at) and not has_expired(run)


def next_look(seen: Observed, clocks: Clocks) -> timedelta | None:
    """How long until time alone changes the status; zero if it should have, None for never."""
    run, now = seen.run, clocks.ours
    if run.going:
        return None
    if run.finished:
        if "claimName" in run.status and not seen.claim:
            # It was given back while the end was written, and no event is to follow.
            return timedelta(0)
        at = None if has_expired(run) else run.expires_at
    else:
        outcome = judge(seen, clocks)
        if outcome.ended:
            return timedelta(0)
        gone = ends_at(seen.pod) if seen.pod else None
        at = min((each for each in (outcome.until, gone) if each), default=None)
    if at is None:
        return None
    return at - now + _MARGIN if at > now else timedelta(0)
