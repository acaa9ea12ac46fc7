"""How long a run of a server may be, and when it is over. A doubt about a clock postpones that."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from lightkube.models.core_v1 import Pod

from devctl.api.devserver import Condition
from devctl_observer.judging.clocks import from_text
from devctl_observer.judging.model import meta_of
from devctl_observer.judging.pods import ends_at
from devctl_observer.kinds.servers.deadlines import (
    SKEW,
    Deadline,
    Limit,
    Period,
    Warned,
    is_current,
    parsed,
    until,
    warned_by,
)
from devctl_observer.kinds.servers.model import Server

MAX_RUNTIME_SOON = "MaxRuntimeSoon"
"""The reason of the condition and of the Event before a server is stopped."""


def run_start(server: Server, pods: Iterable[Pod], now: datetime) -> datetime | None:
    """When the run began: when a node first accepted one of its pods; None if none has yet.

    A run lasts until the server is stopped, whichever pods are replaced meanwhile. So its beginning
    is kept in the status, where it only becomes earlier: also if a clock was ahead at first.
    """
    if server.ends:
        return None
    accepted = (_accepted(pod, now) for pod in pods if not ends_at(pod))
    first, known = min(filter(None, accepted), default=None), _known(server)
    if known is None or first is None:
        return known or first
    return min(known, first)


def _known(server: Server) -> datetime | None:
    """What the status says, unless it may be about an earlier run."""
    return from_text(server.status.get("startedAt")) if is_current(server) else None


def _accepted(pod: Pod, now: datetime) -> datetime | None:
    """When a node accepted a pod: by the node's clock, which may be wrong.

    That is not yet to come, and was after the pod was made, by the API server's clock. What the
    node says otherwise is ignored: the pod may have waited for days, so the run begins now.
    """
    start = pod.status.startTime if pod.status else None
    made = meta_of(pod.metadata).creation_timestamp
    if start is None or (made and made > now):
        return None
    return now if made and start < made else min(start, now)


def run_end(server: Server, now: datetime, start: datetime | None = None) -> Deadline | None:
    """When the run has to end; None if it may go on, or if its times cannot be trusted.

    Args:
        server: The server.
        now: The time.
        start: When the run began, if the status does not say so yet.
    """
    length, begins = parsed(server.spec.lifecycle.max_runtime), start or _known(server)
    if server.ends or length is None or begins is None or begins > now + SKEW:
        return None
    warned = warned_by(server, Condition.RUNTIME_ENDING, "runEndsAt")
    if warned.since and warned.since < begins:
        warned = Warned()  # about an earlier run
    return Period(Limit.MAX_RUNTIME, begins, length).ends(warned, now)


def is_early(server: Server, now: datetime, start: datetime | None = None) -> bool:
    """Whether its run is said to begin in the future, by a given clock."""
    begins = start or _known(server)
    limited = server.spec.lifecycle.max_runtime is not None and not server.ends
    return limited and begins is not None and begins > now + SKEW


def is_over(server: Server, now: datetime, *others: datetime) -> bool:
    """Whether the run has to end now by every clock."""
    ends = [(clock, run_end(server, clock)) for clock in (now, *others)]
    return all(end and clock >= end.at for clock, end in ends)


def next_end(server: Server, now: datetime) -> timedelta | None:
    """How long until the end of the run, or its notice; None for never."""
    found = run_end(server, now)
    if found is None:
        return SKEW if is_early(server, now) else None
    return until(found, now)
