"""The agent's loop: look, judge, report."""

from __future__ import annotations

import logging
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from devctl.api.node_activity import SAMPLE_SECONDS
from devctl_node_agent import report
from devctl_node_agent.ages import Ages
from devctl_node_agent.api import ReportError
from devctl_node_agent.schedule import Answer, Schedule, View
from devctl_node_agent.signals import judge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from devctl_node_agent.notices import Notices
    from devctl_node_agent.sample import Counters, Place, Sample

log = logging.getLogger(__name__)

_ENOUGH = 0.95 * SAMPLE_SECONDS
"""Seconds between two samples to compare: over 0.2 s, a probe alone would be 20 % of a core."""
_KEPT = 8
"""Earlier samples of a pod; a look that a report wants comes between two others."""
_SETTLED = 0.05
"""Seconds of slack, so that an age has really reached a whole second."""


class Looks(Protocol):
    """Where samples come from."""

    def look(self, now: float) -> Mapping[str, Sample]:
        """A sample of each pod, by UID."""


class Reports(Protocol):
    """Where reports go."""

    def report(self, node: str, status: Mapping[str, Any]) -> Any:
        """Write a status; the object as it is then."""


class Agent:
    """The agent of one node.

    Args:
        node: The node's name.
        instance: A name of this run, different from all earlier ones.
        sampler: Where samples come from.
        api: Where reports go.
        notices: Tells the people in a pod what the answers say.
        clock: The monotonic clock, which never jumps and stands still while a machine is suspended.
        random: A random number from 0 to 1, at each call.
    """

    def __init__(  # noqa: PLR0913 - what it depends on
        self,
        node: str,
        instance: str,
        *,
        sampler: Looks,
        api: Reports,
        notices: Notices,
        clock: Callable[[], float],
        random: Callable[[], float],
    ) -> None:
        """Have neither looked nor reported."""
        self._node, self._instance = node, instance
        self._sampler, self._api, self._notices = sampler, api, notices
        self._clock, self._random = clock, random
        self._ages, self._schedule = Ages(), Schedule()
        self._history: dict[str, deque[Counters]] = {}
        self._places: dict[str, Place] = {}
        self._next_look = clock()
        self._sequence = 0
        self._said = ""
        self.is_ready = False
        """Whether the API server has answered as it should."""

    def step(self) -> float:
        """Do what is due; the seconds until something is again."""
        now = self._clock()
        if now >= self._next_look or now >= self._schedule.due(self._views(now)):
            self._look(now)
            self._next_look = now + SAMPLE_SECONDS
            # A failing API server must not let looks slip.
            if now >= self._schedule.due(self._views(now)):
                self._report(now)
        now = self._clock()
        due = self._schedule.due(self._views(now)) + _SETTLED
        return max(0.0, min(self._next_look, due) - now)

    def _look(self, now: float) -> None:
        samples = self._sampler.look(now)
        for uid, sample in samples.items():
            history = self._history.setdefault(uid, deque(maxlen=_KEPT))
            self._ages.update(uid, now, judge(_earlier(history, now), sample))
            history.append(sample.counters)
        self._places = {uid: each.place for uid, each in samples.items() if each.place}
        self._ages.keep(samples.keys())
        for uid in self._history.keys() - samples.keys():
            del self._history[uid]

    def _report(self, now: float) -> None:
        views = self._views(now)
        status = report.status(
            self._ages,
            now,
            instance=self._instance,
            sequence=self._sequence + 1,
            wall_clock=datetime.now(UTC),
        )
        try:
            answer = self._api.report(self._node, status)
        except ReportError as error:
            self._say(f"cannot report: {error}")
            self.is_ready = self.is_ready or error.answer is Answer.ABSENT
            self._schedule.answered(self._clock(), views, error.answer, self._random())
            return
        self._say("reporting")
        self.is_ready = True
        self._sequence += 1
        self._schedule.answered(now, views, Answer.ACCEPTED, self._random())
        self._schedule.report_at = report.wanted_ages(answer)
        self._notices.give(report.notices(answer), self._places)

    def _views(self, now: float) -> dict[str, View]:
        return {
            uid: View(self._ages.idle(uid, now), pod.last) for uid, pod in self._ages.pods.items()
        }

    def _say(self, what: str) -> None:
        """Log what differs from last time."""
        if what != self._said:
            log.info("%s", what)
        self._said = what


def _earlier(history: deque[Counters], now: float) -> Counters | None:
    """The latest sample that is old enough to compare with, or else the oldest."""
    enough = [each for each in history if now - each.at >= _ENOUGH]
    return enough[-1] if enough else next(iter(history), None)
