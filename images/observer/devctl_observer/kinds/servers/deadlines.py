"""When a server expires, and whether it has. Nothing is deleted while there is doubt."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from devctl.api.conditions import find
from devctl.api.devserver import Condition
from devctl.api.durations import parse_duration
from devctl_observer.judging.clocks import from_text
from devctl_observer.judging.conditions import TRUE
from devctl_observer.kinds.servers.model import Server

SKEW = timedelta(minutes=1)
"""If a server was created further in the future than this, a clock is wrong."""
_LONGEST_NOTICE = timedelta(hours=1)
_ENOUGH = 0.9
"""The part of the notice that must have passed: it is always given slightly late."""


@dataclass(frozen=True)
class Expiry:
    """When a server is deleted, and when its owner is warned."""

    at: datetime
    notice: datetime


def expiry(server: Server, now: datetime) -> Expiry | None:
    """The deadline; None if there is none or the times cannot be trusted.

    No server is deleted without notice: if its time has already passed, because `timeToLive` was
    lowered or no observer was running, it is deleted after the notice period.
    """
    wanted, created = server.spec.lifecycle.time_to_live, server.metadata.creation_timestamp
    if wanted is None or created is None or is_early(server, now):
        return None
    try:
        live = parse_duration(wanted)
        at = created + live
    except (ValueError, OverflowError):
        return None
    if live <= timedelta(0):
        return None
    notice = min(_LONGEST_NOTICE, live / 10)
    begins = at - notice
    if now >= begins:
        at = max(at, (_warned(server) or now) + notice * _ENOUGH)
    return Expiry(at, begins)


def _warned(server: Server) -> datetime | None:
    """Since when its status has announced the deletion; None if it does not."""
    said = find(server.status, Condition.EXPIRING)
    return from_text(said.get("lastTransitionTime")) if said.get("status") == TRUE else None


def is_early(server: Server, now: datetime) -> bool:
    """Whether a server with a time to live was created in the future, by a given clock."""
    wanted, created = server.spec.lifecycle.time_to_live, server.metadata.creation_timestamp
    return wanted is not None and created is not None and created > now + SKEW


def is_due(server: Server, now: datetime, *others: datetime) -> bool:
    """Whether the server has expired by every clock."""
    ends = [(clock, expiry(server, clock)) for clock in (now, *others)]
    return not server.going and all(end and clock >= end.at for clock, end in ends)


def next_look(server: Server, now: datetime) -> timedelta | None:
    """How long until a deadline changes the server's status; None if never."""
    deadline = expiry(server, now)
    if deadline is None:
        # Nothing notifies us when the clock is right again.
        return SKEW if is_early(server, now) else None
    ahead = [moment - now for moment in (deadline.notice, deadline.at) if moment > now]
    return min(ahead, default=None)
