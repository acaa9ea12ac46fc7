"""The line that the people at a server's terminals get before it is stopped."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from devctl.api.conditions import find
from devctl.api.devserver import Condition
from devctl.api.idleness import Idleness
from devctl_observer.judging.clocks import from_text
from devctl_observer.judging.conditions import TRUE
from devctl_observer.kinds.servers.idle_status import length_of
from devctl_observer.kinds.servers.model import Server


class _Stop(NamedTuple):
    at: datetime
    text: str


def notice(server: Server) -> str:
    """What its terminals show, by its status; empty if it is not about to be stopped.

    The text stays the same until the time does not, since each different one is shown.
    """
    if server.ends:
        return ""
    stops = sorted(filter(None, [_idle(server), _run_over(server)]))
    return stops[0].text if stops else ""


def _idle(server: Server) -> _Stop | None:
    said, idle = find(server.status, Condition.IDLE), server.status.get("idle") or {}
    since, warned, at = (from_text(idle.get(key)) for key in ("since", "warnedAt", "stopsAt"))
    if said.get("reason") != Idleness.SOON or not (since and warned and at):
        return None
    name = server.metadata.name
    text = (
        f"devctl: {name} has been idle for {_span(warned - since)} and will be stopped at"
        f" {at:%H:%M} UTC (in about {_span(at - warned)}) unless something is active by then;"
        f" `devctl hold {name} --for 12h` keeps it running"
    )
    return _Stop(at, text)


def _run_over(server: Server) -> _Stop | None:
    said, at = find(server.status, Condition.RUNTIME_ENDING), server.status.get("runEndsAt")
    warned, ends = from_text(said.get("lastTransitionTime")), from_text(at)
    if said.get("status") != TRUE or not (warned and ends):
        return None
    name = server.metadata.name
    text = (
        f"devctl: {name} will be stopped at {ends:%H:%M} UTC (in about {_span(ends - warned)}) even"
        f" if it is active, because it has run for {length_of(server.spec.lifecycle.max_runtime)};"
        f" its files are kept; `devctl extend {name} --max-runtime 4h` lets it run on"
    )
    return _Stop(ends, text)


def _span(length: timedelta) -> str:
    """A length of time, to the minute from two minutes on.

    >>> _span(timedelta(minutes=105)), _span(timedelta(hours=2)), _span(timedelta(seconds=15))
    ('1h45m', '2h', '15s')
    """
    seconds = max(0, round(length.total_seconds()))
    if seconds < 120:  # noqa: PLR2004 - two minutes
        return f"{seconds}s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes else "")
