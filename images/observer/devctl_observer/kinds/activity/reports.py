"""When the last report of each node arrived, by a clock that nobody can set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from devctl_observer.kinds.activity.model import Activity, PodReport, Report


class Arrival(NamedTuple):
    """What is known of a pod."""

    report: PodReport | None = None
    """None if its node has not reported on it."""
    at: float | None = None
    """When that report arrived, in monotonic seconds.

    None if it was there before this process: it may be of any age, so it does not count.
    """
    since: float = 0.0
    """When this process first saw that report."""


NEVER = Arrival()
"""Of a pod on which no node has reported."""


class _Known(NamedTuple):
    report: Report
    at: float | None
    since: float


@dataclass
class Reports:
    """Remembers the last report of each node."""

    steady: Callable[[], float]
    """Monotonic seconds."""
    _nodes: dict[str, _Known] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """Whether an agent has ever reported anything."""
        return any(known.report.instance for known in self._nodes.values())

    def note(self, node: str, activity: Activity | None) -> bool:
        """Take note of a node's object; returns whether it has a new report.

        A change of anything else, such as of its spec, is not a report.
        """
        if activity is None:
            self._nodes.pop(node, None)
            return False
        known, report, now = self._nodes.get(node), activity.report, self.steady()
        if known is None:
            self._nodes[node] = _Known(report, None, now)
            return False
        if not report.instance or not _is_newer(report, known.report):
            return False
        self._nodes[node] = _Known(report, now, now)
        return True

    def of(self, node: str, uid: str) -> Arrival:
        """What is known of a pod; only a report of the pod's own node counts."""
        if (known := self._nodes.get(node)) is None:
            return NEVER
        found = next((pod for pod in known.report.pods if pod.uid == uid), None)
        return Arrival(found, known.at if found else None, known.since)

    def ages(self) -> Mapping[str, float]:
        """For how many seconds each node has not reported, as far as this process has seen."""
        now = self.steady()
        return {node: now - known.since for node, known in self._nodes.items()}

    def is_current(self, activity: Activity) -> bool:
        """Whether an object that was just read has no report that has not arrived here yet."""
        known, read = self._nodes.get(activity.metadata.name), activity.report
        return known is not None and _number(known.report) == _number(read)


def _number(report: Report) -> tuple[str, int]:
    return report.instance, report.sequence


def _is_newer(report: Report, known: Report) -> bool:
    return report.instance != known.instance or report.sequence > known.sequence
