"""Whether a server is idle and may be stopped, from the reports of its nodes' agents.

Nothing here depends on a wall clock, except for how long `holdUntil` still holds. Agents report
ages, and the observer knows when each report arrived by its own monotonic clock. The last activity
of a replica is at the latest `arrival - age`, however long the report was on its way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from devctl.api.durations import parse_duration
from devctl.api.idleness import Idleness, grace_seconds
from devctl.api.node_activity import ALWAYS_REPORTED, FRESH_SECONDS, Signal
from devctl_observer.kinds.activity.model import PodReport, SignalReport
from devctl_observer.kinds.activity.reports import NEVER, Arrival
from devctl_observer.kinds.servers.model import Lifecycle

_ENOUGH = 0.9
"""The part of the notice that must have passed: it is always given slightly late."""
_ROUNDING = 0.001
"""Seconds by which sums of moments may be off."""
_JITTER = 2.0
"""Seconds by which two reports on the same activity may differ: ages are rounded down.

Without this allowance, a verdict that is shown could flip back and forth. A stop gets none.
"""


@dataclass(frozen=True)
class Rank:
    """A replica, and the last report on its pod."""

    ordinal: int
    node: str = ""
    """Empty if it has no running pod."""
    arrival: Arrival = NEVER
    expected: frozenset[Signal] = ALWAYS_REPORTED
    """Signals that each report on its pod should have."""

    @property
    def unknown(self) -> list[SignalReport]:
        """The signals that the last report could not tell."""
        report = self.arrival.report
        return report.unknown(self.expected) if report else []


@dataclass(frozen=True)
class Limits:
    """What a server's lifecycle says about idleness."""

    timeout: float
    """Seconds."""
    stops: bool = False
    """Whether it is stopped then."""
    held: float = 0.0
    """For how many more seconds it is kept."""

    @property
    def grace(self) -> float:
        """How many seconds before the stop its owner is warned."""
        return grace_seconds(self.timeout)


class Last(NamedTuple):
    """The last activity that is known."""

    moment: float
    """At the latest, in monotonic seconds."""
    ordinal: int
    """The replica."""


class Looks(NamedTuple):
    """What the last reports have shown."""

    age: float
    """For how long the replica that was active last had been idle at its report."""
    oldest: float
    """When the oldest of the reports arrived."""


class Gap(NamedTuple):
    """What is not known of a replica."""

    rank: Rank
    signal: SignalReport | None = None


@dataclass(frozen=True)
class Judgement:
    """What is known of a server at a moment."""

    verdict: Idleness | None
    """None until the agents' first reports to this process: what was said before still holds."""
    last: Last | None = None
    gap: Gap | None = None
    """The first thing that is not known, for the verdicts about that."""
    idle: float = 0.0
    """For how many seconds nothing has been active."""
    is_idle: bool = False
    """Whether that is as long as it may be."""
    stops_in: float | None = None
    """Seconds until it is stopped unless something is active by then; None if it is not."""
    stop: bool = False
    """Whether it is to be stopped now."""
    again: float | None = None
    """Seconds until time alone may change this; None for never."""

    @property
    def notice(self) -> bool:
        """Whether its owner is to know that it is about to be stopped."""
        return self.verdict is Idleness.SOON


def limits(lifecycle: Lifecycle, held: float) -> Limits | None:
    """The limits that a server has; None if it may be idle for ever."""
    if lifecycle.idle_timeout is None:
        return None
    try:
        timeout = parse_duration(lifecycle.idle_timeout).total_seconds()
    except ValueError:
        return None
    return Limits(timeout, lifecycle.auto_shutdown, held) if timeout > 0 else None


@dataclass(frozen=True)
class Before:
    """What was said before."""

    noticed: float | None = None
    """When this process has warned the owner; None if that is yet to come."""
    was_idle: bool = False
    """Whether the server was said to be idle."""


_NOTHING = Before()


def judge(
    ranks: Sequence[Rank], limit: Limits | None, now: float, before: Before = _NOTHING
) -> Judgement:
    """Judge a server.

    Args:
        ranks: All replicas that it should have; none if it is stopped.
        limit: Its limits; None if it has none.
        now: Monotonic seconds.
        before: What was said before.
    """
    if unknown := _judge_gap(ranks, now):
        return unknown
    # Time alone makes reports old.
    expires = min(_seen(rank) for rank in ranks) + FRESH_SECONDS + 1
    reports = [(rank, *found) for rank in ranks if (found := _report(rank))]
    if len(reports) < len(ranks):
        return Judgement(None, again=expires - now)
    last, shown = max(
        (Last(arrived - report.age, rank.ordinal), report.age) for rank, report, arrived in reports
    )
    if limit is None:
        return Judgement(Idleness.ACTIVE, last, idle=now - last.moment, again=expires - now)
    oldest = min(arrived for _, _, arrived in reports)
    return _judge_time(limit, last, Looks(shown, oldest), now, before)


def _judge_gap(ranks: Sequence[Rank], now: float) -> Judgement | None:
    """The verdict if something is not known; None if everything is, or soon will be."""
    missing = next((rank for rank in ranks if not rank.node), None)
    if missing or not ranks:
        return Judgement(Idleness.NOT_RUNNING, gap=Gap(missing) if missing else None)
    if lost := next((rank for rank in ranks if _is_lost(rank, now)), None):
        return Judgement(Idleness.NO_REPORT, gap=Gap(lost))
    for rank in ranks:
        if unknown := rank.unknown:
            again = _seen(rank) + FRESH_SECONDS + 1 - now
            return Judgement(Idleness.SIGNAL_UNKNOWN, gap=Gap(rank, unknown[0]), again=again)
    return None


def _judge_time(limit: Limits, last: Last, looks: Looks, now: float, before: Before) -> Judgement:
    """Judge a server of which everything is known."""
    due = last.moment + limit.timeout
    margin = _JITTER if before.was_idle or before.noticed is not None else _ROUNDING
    # A busy server is not reported more often than others: only a report shows that it is idle.
    idle, is_idle = now - last.moment, looks.age >= limit.timeout - margin
    expires = looks.oldest + FRESH_SECONDS + 1
    if not limit.stops:
        verdict = Idleness.IDLE if is_idle else Idleness.ACTIVE
        again = _soonest(now, due, expires)
        return Judgement(verdict, last, idle=idle, is_idle=is_idle, again=again)
    end = max(due, now + limit.held) if limit.held > 0 else due
    warning = end - limit.grace
    if soon := now >= warning - margin and looks.age >= limit.timeout - limit.grace - margin:
        noticed = now if before.noticed is None else before.noticed
        verdict, end = Idleness.SOON, max(end, noticed + limit.grace * _ENOUGH)
    else:
        verdict = Idleness.HELD if is_idle else Idleness.ACTIVE
    # Every replica has to be looked at again right before, when the time is over.
    looked = looks.oldest >= end - _ROUNDING and now - looks.oldest <= FRESH_SECONDS
    return Judgement(
        verdict,
        last,
        idle=idle,
        is_idle=is_idle,
        stops_in=max(0.0, end - now) if math.isfinite(end) else None,
        stop=soon and before.noticed is not None and limit.held <= 0 and looked,
        again=_soonest(now, due, warning, end, expires),
    )


def _is_lost(rank: Rank, now: float) -> bool:
    """Whether its node has not reported on it, or not lately."""
    return rank.arrival.report is None or now - _seen(rank) > FRESH_SECONDS


def _seen(rank: Rank) -> float:
    at = rank.arrival.at
    return rank.arrival.since if at is None else at


def _report(rank: Rank) -> tuple[PodReport, float] | None:
    """A report that counts, and when it arrived."""
    report, at = rank.arrival.report, rank.arrival.at
    return (report, at) if report is not None and at is not None else None


def _soonest(now: float, *moments: float) -> float | None:
    """Seconds until the first of several moments that are ahead."""
    ahead = [moment - now for moment in moments if now < moment < math.inf]
    return min(ahead, default=None)
