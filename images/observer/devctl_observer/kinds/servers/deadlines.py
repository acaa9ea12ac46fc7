"""When a server is deleted, and whether that time has come. Doubt never deletes."""

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
"""A creation further in the future than this means that a clock is wrong."""
_LONGEST_NOTICE = timedelta(hours=1)
_ENOUGH = 0.9
"""How much of the notice has to have passed: it is given a moment after its time has come."""


@dataclass(frozen=True)
class Expiry:
    """When a server goes, and from when on its owner is warned."""

    at: datetime
    notice: datetime


def expiry(server: Server, now: datetime) -> Expiry | None:
    """The deadline, or None where there is none or the times cannot be trusted.

    Nobody's server goes without notice: where its time is over at once, as when `timeToLive` is
    lowered or nobody has looked for a day, it goes when the notice is.
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
    """Since when its status has said that it goes soon; None where it does not."""
    said = find(server.status, Condition.EXPIRING)
    return from_text(said.get("lastTransitionTime")) if said.get("status") == TRUE else None


def is_early(server: Server, now: datetime) -> bool:
    """Whether a server with an end was created in what a clock takes for the future."""
    wanted, created = server.spec.lifecycle.time_to_live, server.metadata.creation_timestamp
    return wanted is not None and created is not None and created > now + SKEW


def is_due(server: Server, now: datetime, *others: datetime) -> bool:
    """Whether every clock agrees that the server's time has come."""
    ends = [(clock, expiry(server, clock)) for clock in (now, *others)]
    return not server.going and all(end and clock >= end.at for clock, end in ends)


def next_look(server: Server, now: datetime) -> timedelta | None:
    """How long until time alone changes something about a server."""
    deadline = expiry(server, now)
    if deadline is None:
        # It may be set right, or come right, without anybody's notice.
        return SKEW if is_early(server, now) else None
    ahead = [moment - now for moment in (deadline.notice, deadline.at) if moment > now]
    return min(ahead, default=None)
