"""What a server's status says about idleness. It is for people: no decision depends on it.

Agents report every minute, and a status that followed each report would be written as often. So
the last activity is rewritten only if it is off by minutes, or by seconds once the server is quiet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from devctl.api.conditions import find
from devctl.api.devserver import Condition
from devctl.api.idleness import LONGEST_GRACE, Idleness
from devctl.api.node_activity import AGENT, Signal
from devctl_observer.judging.clocks import from_text, to_text
from devctl_observer.judging.conditions import FALSE, TRUE, UNKNOWN, condition
from devctl_observer.kinds.activity.model import SignalReport
from devctl_observer.kinds.servers.idleness import Judgement, Limits, Rank
from devctl_observer.kinds.servers.model import Server

_VERDICTS = 10
_LONGEST = 1024
_CLOSE = timedelta(seconds=10)
_COARSE = timedelta(minutes=5)
_SIGNALS = [
    Signal.TERMINAL,
    Signal.JUPYTER,
    Signal.GPU,
    Signal.PROBE,
    Signal.PROCESS,
    Signal.CPU,
    Signal.DISK,
    Signal.NETWORK,
]
"""The most telling ones first."""
MEASURED = frozenset({Idleness.ACTIVE, Idleness.IDLE, Idleness.SOON, Idleness.HELD})
"""The verdicts on servers of which everything is known."""
_COUNTS = "until this is known, the server counts as active"


@dataclass(frozen=True)
class Moment:
    """The same moment by two clocks."""

    wall: datetime
    steady: float
    """Monotonic seconds."""

    def at(self, steady: float) -> datetime:
        """Another moment of the monotonic clock, as people read it."""
        return self.wall + timedelta(seconds=steady - self.steady)


@dataclass(frozen=True)
class Idling:
    """A server's verdict, and what it was derived from."""

    judgement: Judgement
    ranks: Sequence[Rank]
    limit: Limits | None
    moment: Moment


@dataclass(frozen=True)
class Told:
    """What a status says about idleness."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the status."""
    condition: Mapping[str, Any] | None = None


def idle_status(server: Server, of: Idling) -> Told:
    """What the status of a server says from now on; what it says now is in `server`."""
    verdict, before = of.judgement.verdict, server.status
    keys = ("lastActivityAt", "lastActivity")
    kept: dict[str, Any] = {key: before[key] for key in keys if key in before}
    idle: dict[str, Any] = before.get("idle") or {}
    if verdict is None:
        said = _Text(UNKNOWN, Idleness.NO_REPORT, "waiting for the next reports of its nodes")
        return _told(of, kept, idle, find(before, Condition.IDLE) or said.condition)
    if verdict in MEASURED:
        return _measured(server, of, kept, idle, verdict)
    status = FALSE if verdict is Idleness.NOT_RUNNING else UNKNOWN
    text = _Text(status, verdict, _gap(of.judgement, len(of.ranks)))
    signals = _signals(of) if verdict is Idleness.SIGNAL_UNKNOWN else None
    entry = _of_gap(server, of, text.message)
    new = {"signals": signals, "verdicts": _ledger(idle, entry, of.moment)}
    return _told(of, kept, new, text.condition)


@dataclass(frozen=True)
class _Text:
    status: str
    verdict: Idleness
    message: str

    @property
    def condition(self) -> Mapping[str, Any]:
        return condition(Condition.IDLE, self.status, self.verdict, self.message)


def _told(
    of: Idling, kept: Mapping[str, Any], idle: Mapping[str, Any], said: Mapping[str, Any]
) -> Told:
    """What is said; without a limit, only the last activity."""
    if of.limit is None:
        return Told(kept)
    known = {key: value for key, value in idle.items() if value}
    own = {key: said[key] for key in ("type", "status", "reason", "message")}
    return Told({**kept, **({"idle": known} if known else {})}, own)


def _measured(
    server: Server, of: Idling, kept: dict[str, Any], idle: Mapping[str, Any], verdict: Idleness
) -> Told:
    """What is said about a server of which everything is known."""
    judgement, limit, moment = of.judgement, of.limit, of.moment
    grace = limit.grace if limit else LONGEST_GRACE
    is_quiet = judgement.idle >= grace or verdict is not Idleness.ACTIVE
    exact = moment.at(judgement.last.moment if judgement.last else moment.steady)
    signals = idle.get("signals") or []
    stale = not _is_near(kept.get("lastActivityAt"), exact, _CLOSE if is_quiet else _COARSE)
    if stale or any(signal.get("unknown") for signal in signals) or (limit and not signals):
        kept = {"lastActivityAt": to_text(exact), "lastActivity": _last(of)}
        signals = _signals(of)
    if limit is None:
        return Told(kept)
    new: dict[str, Any] = {"signals": signals}
    if is_quiet:
        new["since"] = kept["lastActivityAt"]
        new["stopsAt"] = _stops_at(idle, of)
    if verdict is Idleness.SOON:
        new["warnedAt"] = idle.get("warnedAt") or to_text(moment.wall)
    message = _message(server, verdict, kept, new.get("stopsAt"))
    new["verdicts"] = _ledger(idle, (verdict, message), moment)
    status = TRUE if judgement.is_idle else FALSE
    return _told(of, kept, new, _Text(status, verdict, message).condition)


def _is_near(text: object, moment: datetime, within: timedelta) -> bool:
    """Whether a timestamp is as good as a moment."""
    old = from_text(text)
    return old is not None and abs(moment - old) < within


def _stops_at(idle: Mapping[str, Any], of: Idling) -> str | None:
    """When it is stopped; unchanged if the difference is small."""
    left = of.judgement.stops_in
    if left is None:
        return None
    exact, old = of.moment.at(of.moment.steady + left), idle.get("stopsAt")
    return str(old) if _is_near(old, exact, _CLOSE) else to_text(exact)


def _message(
    server: Server, verdict: Idleness, kept: Mapping[str, Any], stops_at: str | None
) -> str:
    """The verdict on a server of which everything is known, in a sentence."""
    life, at, what = server.spec.lifecycle, kept["lastActivityAt"], kept["lastActivity"]
    nothing = f"nothing has been active since {at} ({what})"
    if verdict is Idleness.HELD:
        return f"{nothing}; it is held until {life.hold_until} (spec.lifecycle.holdUntil)"
    if verdict is Idleness.IDLE:
        return f"{nothing}; it is not stopped because spec.lifecycle.autoShutdown is not set"
    if stops_at:
        then = f"it will be stopped at {stops_at} unless something is active by then"
        hold = f"`devctl hold {server.metadata.name} --for 12h`"
        keep = f"its files are kept; {hold} keeps it running"
        return f"{nothing}; {then}" + (f"; {keep}" if verdict is Idleness.SOON else "")
    does = "is stopped" if life.auto_shutdown else "counts as idle"
    return f"last active at {at}: {what}; it {does} after {timeout_of(server)} without activity"


def timeout_of(server: Server) -> str:
    """The length of its idleTimeout, for people."""
    return length_of(server.spec.lifecycle.idle_timeout)


def length_of(duration: int | str | None) -> str:
    """A duration of a lifecycle, for people."""
    return f"{duration} s" if isinstance(duration, int) else str(duration)


def _gap(judgement: Judgement, count: int) -> str:
    """What is not known, in a sentence."""
    gap, verdict = judgement.gap, judgement.verdict
    if verdict is Idleness.NOT_MEASURED:
        return (
            "idleness is not measured here, so the server is not stopped: an administrator must"
            f" install the node agent (DaemonSet `{AGENT}`)"
        )
    if gap is None:
        return "the server does not run"
    which = f"replica {gap.rank.ordinal}" if count > 1 else "its pod"
    if verdict is Idleness.NOT_RUNNING:
        return f"{which} does not run"
    node = f"node `{gap.rank.node}`"
    if gap.signal is None:
        when = "lately" if gap.rank.arrival.report else "yet"
        said = f"the agent of {node} has not reported on {which} {when}; {_COUNTS}"
        return f"{said}; ask an administrator to check the DaemonSet `{AGENT}`"
    why = f" ({_clean(gap.signal.detail)})" if gap.signal.detail else ""
    return f"signal {gap.signal.type} of {which} on {node} cannot be read{why}; {_COUNTS}"


def _of_gap(server: Server, of: Idling, message: str) -> tuple[Idleness, str] | None:
    """The entry for a verdict without measurements; None if it is part of every start or stop."""
    if server.spec.stopped and server.stopped_by == Idleness.STOPPED:
        return Idleness.STOPPED, server.stopped_by_message
    gap, verdict = of.judgement.gap, of.judgement.verdict
    is_start = gap is None or not gap.rank.arrival.report or verdict is Idleness.NOT_RUNNING
    return None if is_start or verdict is None else (verdict, message)


def _ledger(
    idle: Mapping[str, Any], entry: tuple[Idleness, str] | None, moment: Moment
) -> list[dict[str, Any]]:
    """The last verdicts, with a new one if it differs from the last."""
    verdicts = list(idle.get("verdicts") or [])
    if entry and (not verdicts or verdicts[-1].get("verdict") != entry[0]):
        at = to_text(moment.wall)
        verdicts.append({"at": at, "verdict": str(entry[0]), "message": entry[1][:_LONGEST]})
    return verdicts[-_VERDICTS:]


def _last(of: Idling) -> str:
    """What the last activity was."""
    last = of.judgement.last
    rank = next((rank for rank in of.ranks if last and rank.ordinal == last.ordinal), None)
    if rank is None or rank.arrival.report is None:
        return "unknown"
    signal = min(rank.arrival.report.signals, key=lambda s: (s.idle_seconds, _order(s.type)))
    where = f" in replica {rank.ordinal}" if len(of.ranks) > 1 else ""
    return f"{signal.type}{where}" + (f": {_clean(signal.detail)}" if signal.detail else "")


def _signals(of: Idling) -> list[dict[str, Any]]:
    """Each signal, of the replica in which it was last active."""
    found: dict[str, tuple[datetime, SignalReport]] = {}
    unknown = set()
    for rank in of.ranks:
        report, at = rank.arrival.report, rank.arrival.at
        for signal in [*report.signals, *rank.unknown] if report and at is not None else ():
            when = of.moment.at((at or 0) - signal.idle_seconds)
            if signal.unknown:
                unknown.add(signal.type)
            if signal.unknown or signal.type not in found or when > found[signal.type][0]:
                found[signal.type] = when, signal
    return [
        {
            "type": kind,
            **({"unknown": True} if kind in unknown else {"lastActiveAt": to_text(when)}),
            **({"detail": _clean(signal.detail)} if signal.detail else {}),
        }
        for kind, (when, signal) in sorted(found.items(), key=lambda entry: _order(entry[0]))
    ]


def _order(kind: str) -> int:
    return _SIGNALS.index(Signal(kind)) if kind in set(Signal) else len(_SIGNALS)


def _clean(text: str) -> str:
    """Text of an agent's, which has seen names that users chose."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
