"""What a queue has to keep at every moment: its quota, its order, and that everybody has a turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations
from typing import TYPE_CHECKING, Any

from devctl.api.conditions import find
from devctl.api.queues import QUEUE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Thing = dict[str, Any]
_SECOND = 1.0
"""Kubernetes writes whole seconds: what happens within one has no order."""


@dataclass(frozen=True)
class Turn:
    """When a Workload joined its queue, and when it got its quota; in seconds."""

    name: str
    queue: str
    priority: int
    created: float
    admitted: float

    def precedes(self, other: Turn) -> bool:
        """Whether it must get its quota first: higher priority, then earlier."""
        return (-self.priority, self.created) < (-other.priority, other.created)


@dataclass
class Ledger:
    """Fed with every event of Workloads and pods, in order.

    Attributes:
        quotas: How many pods each ClusterQueue has room for.
        queues: The ClusterQueue of each namespace's LocalQueue.
    """

    quotas: Mapping[str, int]
    queues: Mapping[tuple[str, str], str]
    exceeded: list[str] = field(default_factory=list)
    turns: dict[str, Turn] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    most: dict[str, int] = field(default_factory=dict)
    """How many pods had quota at once, by ClusterQueue."""
    _held: dict[str, tuple[str, int]] = field(default_factory=dict)
    _pods: dict[str, str] = field(default_factory=dict)

    def workload(self, event: str, thing: Thing) -> None:
        """Take down an event of a Workload."""
        meta = thing["metadata"]
        key = f"{meta['namespace']}/{meta['name']}"
        reserved = find(thing.get("status", {}), "QuotaReserved")
        holds = reserved.get("status") == "True" and event != "DELETED"
        if not holds or find(thing.get("status", {}), "Finished").get("status") == "True":
            self._held.pop(key, None)
            (self.waiting.discard if holds or event == "DELETED" else self.waiting.add)(key)
            return
        queue = thing["status"]["admission"]["clusterQueue"]
        self.waiting.discard(key)
        self._held[key] = (queue, sum(s["count"] for s in thing["spec"]["podSets"]))
        created, admitted = meta["creationTimestamp"], reserved["lastTransitionTime"]
        priority = thing["spec"].get("priority", 0)
        self.turns[key] = Turn(key, queue, priority, _seconds(created), _seconds(admitted))
        used = sum(pods for of, pods in self._held.values() if of == queue)
        self._check(queue, used, f"Workloads, with {key}")
        self.most[queue] = max(used, self.most.get(queue, 0))

    def pod(self, event: str, thing: Thing) -> None:
        """Take down an event of a pod: what may start counts, whatever its Workload says."""
        meta, name = thing["metadata"], thing["metadata"].get("labels", {}).get(QUEUE_NAME)
        queue = self.queues.get((meta["namespace"], name))
        if queue is None:
            return
        key = f"{meta['namespace']}/{meta['name']}"
        ended = thing.get("status", {}).get("phase") in {"Succeeded", "Failed"}
        gone = event == "DELETED" or "deletionTimestamp" in meta or ended
        if gone or thing["spec"].get("schedulingGates"):
            self._pods.pop(key, None)
            return
        self._pods[key] = queue
        self._check(queue, list(self._pods.values()).count(queue), f"pods, with {key}")

    def overtaken(self) -> list[str]:
        """Who got quota before somebody who was to be first and was there."""
        by_queue: dict[str, list[Turn]] = {}
        for turn in self.turns.values():
            by_queue.setdefault(turn.queue, []).append(turn)
        return [said for turns in by_queue.values() for said in _overtaken(turns)]

    def _check(self, queue: str, used: int, what: str) -> None:
        if used > self.quotas[queue]:
            self.exceeded.append(f"{queue}: {used} of {self.quotas[queue]} {what}")


def _overtaken(turns: list[Turn]) -> Iterator[str]:
    for one, other in combinations(turns, 2):
        first, second = (one, other) if one.precedes(other) else (other, one)
        there = first.created + _SECOND <= second.admitted
        if first.precedes(second) and there and first.admitted > second.admitted + _SECOND:
            yield f"{second.name} before {first.name}"


def _seconds(stamp: str) -> float:
    return datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
