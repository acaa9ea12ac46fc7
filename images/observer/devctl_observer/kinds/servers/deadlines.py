"""What limits a server's time, and when it is deleted. Nothing is deleted while there is doubt."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from devctl.api.conditions import find
from devctl.api.devserver import Condition
from devctl.api.durations import parse_duration
from devctl_observer.judging.clocks import from_text
from devctl_observer.judging.conditions import TRUE
from devctl_observer.kinds.servers.model import Server

SKEW = timedelta(minutes=1)
"""What has happened further in the future than this, by a clock, shows that a clock is wrong."""
_LONGEST_NOTICE = timedelta(hours=1)
_ENOUGH = 0.9
"""The part of the notice that must have passed: it is always given slightly late."""


class Limit(StrEnum):
    """What sets a deadline: a field of the lifecycle."""

    TIME_TO_LIVE = "TimeToLive"
    DELETE_AFTER_STOPPED = "DeleteAfterStopped"
    MAX_RUNTIME = "MaxRuntime"


@dataclass(frozen=True)
class Deadline:
    """When something happens to a server, and when its owner is warned."""

    at: datetime
    notice: datetime
    limit: Limit


class Period(NamedTuple):
    """What a deadline is the end of."""

    limit: Limit
    begins: datetime
    length: timedelta

    def ends(self, warned: Warned, now: datetime) -> Deadline | None:
        """Its end; None if no calendar reaches that far.

        Nothing happens without notice. If the time has already passed, because the length was
        lowered or no observer was running, it happens after the notice period. It happens before
        the time that was announced only if a notice period has passed since that changed.
        """
        try:
            at = self.begins + self.length
        except OverflowError:
            return None
        notice = min(_LONGEST_NOTICE, self.length / 10)
        start = at - notice
        if now >= start:
            soonest = now + notice * _ENOUGH
            at = max(at, warned.since + notice * _ENOUGH if warned.since else soonest)
            if warned.announced and warned.announced > at:
                at = max(at, min(warned.announced, soonest))
        return Deadline(at, start, self.limit)


class Warned(NamedTuple):
    """What the owner has been told about a deadline."""

    since: datetime | None = None
    """Since when the status has said that it is soon; None if it does not."""
    announced: datetime | None = None
    """The time that it names."""


def warned_by(server: Server, kind: Condition, field: str) -> Warned:
    """What a condition and a field of a server's status say."""
    said = find(server.status, kind)
    if said.get("status") != TRUE:
        return Warned()
    return Warned(from_text(said.get("lastTransitionTime")), from_text(server.status.get(field)))


def parsed(length: int | str | None) -> timedelta | None:
    """A length of time that limits something; None if there is none."""
    try:
        found = parse_duration(length) if length is not None else None
    except ValueError:
        return None
    return found if found and found > timedelta(0) else None


def expiry(server: Server, now: datetime, stopped: datetime | None = None) -> Deadline | None:
    """When a server is deleted, by the earlier of its two limits.

    None if there is none, or if its times cannot be trusted.

    Args:
        server: The server.
        now: The time.
        stopped: Since when it has been stopped, if its status does not say so yet.
    """
    periods = _periods(server, stopped)
    if any(_is_ahead(period, now) for period in periods):
        return None
    warned = warned_by(server, Condition.EXPIRING, "expiresAt")
    ends = (period.ends(warned, now) for period in periods)
    return min(filter(None, ends), key=lambda end: end.at, default=None)


def _periods(server: Server, stopped: datetime | None = None) -> list[Period]:
    """What limits for how long a server exists."""
    life, created = server.spec.lifecycle, server.metadata.creation_timestamp
    since = stopped or stopped_at(server)
    lives, waits = parsed(life.time_to_live), parsed(life.delete_after_stopped)
    return [
        *([Period(Limit.TIME_TO_LIVE, created, lives)] if created and lives else []),
        *([Period(Limit.DELETE_AFTER_STOPPED, since, waits)] if since and waits else []),
    ]


def _is_ahead(period: Period, now: datetime) -> bool:
    """Whether it has not even begun, so that a clock is wrong."""
    return period.begins > now + SKEW


def is_current(server: Server) -> bool:
    """Whether a server has not been both stopped and started since its status was written.

    Each of them changes the spec. While no observer runs, nobody would notice.
    """
    said = find(server.status, Condition.READY).get("observedGeneration", 0)
    return bool(server.metadata.generation - said <= 1)


def stopped_at(server: Server) -> datetime | None:
    """Since when a server has been stopped, as its status says; None if it runs."""
    if not server.spec.stopped or not is_current(server):
        return None
    return from_text(server.status.get("stoppedAt"))


def is_early(server: Server, now: datetime) -> bool:
    """Whether a limit of a server's begins in the future, by a given clock."""
    return any(_is_ahead(period, now) for period in _periods(server))


def is_due(server: Server, now: datetime, *others: datetime) -> bool:
    """Whether a server is to be deleted by every clock."""
    ends = [(clock, expiry(server, clock)) for clock in (now, *others)]
    return not server.going and all(end and clock >= end.at for clock, end in ends)


def next_look(server: Server, now: datetime) -> timedelta | None:
    """How long until a deadline changes the server's status; None if never."""
    found = expiry(server, now)
    if found is None:
        # Nothing notifies us when the clock is right again.
        return SKEW if is_early(server, now) else None
    return until(found, now)


def until(end: Deadline, now: datetime) -> timedelta | None:
    """How long until its notice or until itself, whichever is next; None if both have passed."""
    return min((at - now for at in (end.notice, end.at) if at > now), default=None)
