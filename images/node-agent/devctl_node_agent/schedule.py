"""When the next report is due. Pure: it is told the time and what has happened."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.node_activity import MIN_REPORT_SECONDS, REPORT_SECONDS, SECOND_REPORT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SHORTEST = 1.0
"""Seconds between any two reports."""
_FIRST_BACKOFF, _LONGEST_BACKOFF = 1.0, 60.0
_ABSENT = 10.0
"""Seconds until it is tried again when the observer has not created the object yet."""


class Answer(Enum):
    """How the API server answered a report."""

    ACCEPTED = auto()
    ABSENT = auto()
    """The node's object does not exist yet."""
    FAILED = auto()


class View(NamedTuple):
    """A pod as the schedule sees it."""

    idle: float
    """Seconds since its last activity, now."""
    last: float
    """That moment."""


@dataclass
class Schedule:
    """The times of reports.

    Attributes:
        report_at: The ages of each pod at which the observer wants a report.
    """

    report_at: Mapping[str, Sequence[int]] = field(default_factory=dict)
    _reported: dict[str, View] = field(default_factory=dict)
    _last: float = -math.inf
    """When a report was last accepted."""
    _not_before: float = -math.inf
    _second: float = math.inf
    """When a second report is due, to fetch a notice."""
    _failures: int = 0

    def due(self, pods: Mapping[str, View]) -> float:
        """The moment at which a report is due, if nothing changes until then."""
        if self._last == -math.inf:
            return self._not_before
        moments = [self._last + REPORT_SECONDS, self._second]
        if self._has_news(pods):
            moments.append(self._last + MIN_REPORT_SECONDS)
        moments += [pod.last + age for pod, age in self._ahead(pods)]
        return max(min(moments), self._last + _SHORTEST, self._not_before)

    def answered(self, now: float, pods: Mapping[str, View], answer: Answer, jitter: float) -> None:
        """A report of these pods was answered.

        Args:
            now: The time.
            pods: What was reported.
            answer: The answer.
            jitter: A random number from 0 to 1.
        """
        if answer is not Answer.ACCEPTED:
            wait = _ABSENT
            if answer is Answer.FAILED:
                wait = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2**self._failures)
                wait *= 0.5 + 0.5 * jitter
                self._failures = min(self._failures + 1, 10)
            self._not_before = now + wait
            return
        reached = any(pod.last + age <= now for pod, age in self._ahead(pods))
        if reached:
            self._second = now + SECOND_REPORT_SECONDS
        elif now >= self._second:
            self._second = math.inf
        self._reported, self._last, self._failures = dict(pods), now, 0
        self._not_before = -math.inf

    def _has_news(self, pods: Mapping[str, View]) -> bool:
        """Whether a pod has appeared, gone, or become active since the last report."""
        if pods.keys() != self._reported.keys():
            return True
        return any(
            before.idle >= 1 and pods[uid].last > before.last
            for uid, before in self._reported.items()
        )

    def _ahead(self, pods: Mapping[str, View]) -> list[tuple[View, int]]:
        """The wanted ages that no report has shown yet in this idle time of the pod."""
        found = []
        for uid, ages in self.report_at.items():
            pod, before = pods.get(uid), self._reported.get(uid)
            if pod is None:
                continue
            shown = before.idle if before and before.last >= pod.last else -1.0
            found += [(pod, age) for age in ages if math.floor(shown) < age]
        return found
