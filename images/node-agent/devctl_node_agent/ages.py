"""For how long each signal of each pod has been idle, on the monotonic clock.

An agent that has just started knows nothing of the past, so all ages start at 0. So do those of a
new pod.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from devctl.api.node_activity import Signal
    from devctl_node_agent.signals import Reading


class Age(NamedTuple):
    """One signal of a pod."""

    idle: float
    """Seconds since it was last active; 0 also if it is unknown."""
    unknown: bool
    detail: str
    """What is or was active, or why it is unknown."""


@dataclass
class Pod:
    """A pod's last activity."""

    first: float
    """When the agent saw it first."""
    last: float
    """When any of its signals was last active, also of those that it no longer has."""
    signals: dict[Signal, _Last] = field(default_factory=dict)


class _Last(NamedTuple):
    at: float
    unknown: bool
    detail: str


class Ages:
    """The ages of all pods of the node."""

    def __init__(self) -> None:
        """Know no pod."""
        self.pods: dict[str, Pod] = {}

    def update(self, uid: str, now: float, readings: Mapping[Signal, Reading]) -> None:
        """Take in a look at a pod."""
        pod = self.pods.setdefault(uid, Pod(now, now))
        for signal, reading in readings.items():
            before = pod.signals.get(signal)
            at, detail = (before.at, before.detail) if before else (pod.first, "")
            if before and before.unknown:
                detail = ""
            # What another clock or a pod says counts from when the agent first saw the pod.
            known = now if reading.active or reading.unknown else min(reading.last, now)
            if known > at or reading.active or reading.unknown:
                at, detail = max(at, known), reading.detail
            pod.signals[signal] = _Last(at, reading.unknown, detail)
            pod.last = max(pod.last, at)

    def keep(self, uids: Collection[str]) -> None:
        """Forget all other pods."""
        for uid in self.pods.keys() - set(uids):
            del self.pods[uid]

    def idle(self, uid: str, now: float) -> float:
        """Seconds since anything was active in a pod."""
        return max(0.0, now - self.pods[uid].last)

    def signals(self, uid: str, now: float) -> dict[Signal, Age]:
        """The age of each signal that the pod has or had."""
        return {
            signal: Age(0.0 if last.unknown else max(0.0, now - last.at), last.unknown, last.detail)
            for signal, last in self.pods[uid].signals.items()
        }


def whole_seconds(age: float) -> int:
    """An age as reports have it, rounded down."""
    return math.floor(age)
