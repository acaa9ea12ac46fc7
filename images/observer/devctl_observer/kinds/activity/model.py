"""The parts of a NodeActivity that the observer reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from devctl.api.kinds import NODE_ACTIVITY
from devctl.api.node_activity import ALWAYS_REPORTED, Signal
from devctl_observer.control.kind import kind_of
from devctl_observer.judging.model import Base, Item


class SignalReport(Base, frozen=True):
    """One kind of activity in a pod."""

    type: str
    idle_seconds: int
    unknown: bool = False
    detail: str = ""


def _missing(kind: str) -> SignalReport:
    return SignalReport(kind, 0, unknown=True, detail="not reported")


class PodReport(Base, frozen=True):
    """How idle a pod was when its node's agent reported."""

    uid: str
    idle_seconds: int
    signals: Sequence[SignalReport] = ()

    @property
    def age(self) -> int:
        """For how many seconds nothing had been active."""
        return min([self.idle_seconds, *(signal.idle_seconds for signal in self.signals)])

    def unknown(self, expected: frozenset[Signal] = ALWAYS_REPORTED) -> list[SignalReport]:
        """The signals that could not be read, among them those that the report should have."""
        missing = sorted(expected - {signal.type for signal in self.signals})
        unread = [signal for signal in self.signals if signal.unknown]
        return [*unread, *(_missing(kind) for kind in missing)]


class Report(Base, frozen=True):
    """The last report of a node's agent."""

    instance: str = ""
    """Empty if there has been none."""
    sequence: int = 0
    pods: Sequence[PodReport] = ()


class WatchedPod(Base, frozen=True, omit_defaults=True):
    """A pod on which the agent is to report at particular moments."""

    uid: str
    report_at: Sequence[int] = ()
    notice: str = ""
    """A line for its terminals; empty for none."""


class ActivitySpec(Base, frozen=True):
    """What the agent is asked for."""

    pods: Sequence[WatchedPod] = ()


class Activity(Item, frozen=True):
    """A NodeActivity."""

    spec: ActivitySpec = ActivitySpec()
    report: Report = Report()


def _report(obj: Mapping[str, Any]) -> dict[str, Any]:
    # Parsed once here; as plain JSON it would take more memory than all that is used of it.
    return {"report": msgspec.convert(obj.get("status") or {}, Report), "status": {}}


KIND = kind_of(NODE_ACTIVITY, Activity, _report)
