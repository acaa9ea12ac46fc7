"""Metrics of servers: what they do, how long they wait, and why they stop."""

from __future__ import annotations

import os
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import starmap
from typing import Any

from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from devctl.api.conditions import find
from devctl.api.devserver import Condition, Phase
from devctl.api.idleness import Idleness
from devctl.api.workloads import PREEMPTED, QUEUED
from devctl_observer.control.figures import COMMON, PREFIX, REGISTRY
from devctl_observer.kinds.servers.deadlines import Limit
from devctl_observer.kinds.servers.model import Server
from devctl_observer.watching.store import Key

EXPIRED, SUSPENDED = "Expired", "UserSuspended"
OWNERS = "DEVCTL_OBSERVER_METRICS_OWNERS"
"""The environment variable that has owners named. Their names are personal data."""

_BUCKETS = (1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14400, 43200, 86400)
_START = Histogram(
    "devserver_start_duration_seconds",
    "Time from creation or start to Ready, including the time in a queue.",
    ["flavor"],
    buckets=_BUCKETS,
    **COMMON,
)
_QUEUE = Histogram(
    *("devserver_queue_duration_seconds", "Time in a queue until admission.", ["flavor"]),
    buckets=_BUCKETS,
    **COMMON,
)
_RESTARTS = Counter("devserver_restarts", "Container restarts in DevServers.", ["flavor"], **COMMON)
STOPS = Counter(
    "devserver_stops",
    "DevServers that devctl stopped or deleted while they should run: Expired (deleted after its "
    "timeToLive), IdleStopped, MaxRuntime, Preempted, UserSuspended. A user's own stop is not "
    "counted.",
    ["reason"],
    **COMMON,
)
for reason in (EXPIRED, Idleness.STOPPED, Limit.MAX_RUNTIME, PREEMPTED, SUSPENDED):
    STOPS.labels(reason=reason)

_ENDS = {Phase.STOPPING, Phase.STOPPED}


@dataclass(frozen=True)
class Wait:
    """A server that should run and is not Ready yet; times are monotonic seconds."""

    since: float
    """When this process first saw it wait, or when it was created."""
    starts: bool
    """Whether that is when it was created or started."""
    queued: float | None = None
    """When it joined its queue; None if it is in none, or if that is unknown."""


@dataclass(frozen=True)
class Doing:
    """What is exported of a server."""

    flavor: str
    phase: str
    reason: str
    owner: str = ""
    wait: Wait | None = None


class Servers:
    """What every server does, as of its last reconciliation.

    Waits are measured by this process only: what it has not seen from the beginning is not counted.
    """

    def __init__(self, steady: Callable[[], float]) -> None:
        """Start empty, and become what is exported."""
        self.steady = steady
        self.doing: dict[Key, Doing] = {}
        _EXPORTED.servers = self

    def note(self, server: Server, status: Mapping[str, Any], flavor: str, now: datetime) -> None:
        """Note a reconciliation.

        Args:
            server: The server as it was before.
            status: Its new status.
            flavor: The flavor that its pods have or will have; empty if unknown.
            now: The current time.
        """
        # `rate()` misses what happened before the first sample, so all are exported from the start.
        starts, admissions = _START.labels(flavor=flavor), _QUEUE.labels(flavor=flavor)
        _RESTARTS.labels(flavor=flavor).inc(restarts(server.status, status))
        key = Key(server.metadata.namespace, server.metadata.name)
        phase, reason = str(status["phase"]), _reason(status)
        before = self.doing.get(key)
        wait = self._wait(server, before.wait if before else None, reason, now)
        ended = phase in _ENDS
        if wait.queued is not None and reason != QUEUED:
            if not ended:
                admissions.observe(self.steady() - wait.queued)
            wait = replace(wait, queued=None)
        if phase == Phase.RUNNING and wait.starts:
            starts.observe(self.steady() - wait.since)
        waits = not ended and phase != Phase.RUNNING
        owner = server.spec.owner
        self.doing[key] = Doing(flavor, phase, reason, owner, wait if waits else None)

    def _wait(self, server: Server, known: Wait | None, reason: str, now: datetime) -> Wait:
        """Since when a server has waited."""
        steady, status = self.steady(), server.status
        if known is None:
            created, phase = server.metadata.creation_timestamp, status.get("phase")
            age = (now - created).total_seconds() if created and not phase else 0
            known = Wait(steady - max(age, 0), not phase or phase in _ENDS)
        if reason == QUEUED and _reason(status) != QUEUED:
            return replace(known, queued=steady)
        return known

    def forget(self, key: Key) -> None:
        """Drop a deleted server."""
        self.doing.pop(key, None)


def restarts(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """How often containers restarted between two statuses; a new pod starts from 0.

    >>> restarts({"replicaStatuses": [{"ordinal": 0, "restarts": 2}]},
    ...          {"replicaStatuses": [{"ordinal": 0, "restarts": 3}, {"ordinal": 1}]})
    1
    """
    had = _restarts(before)
    return sum(max(count - had.get(number, 0), 0) for number, count in _restarts(after).items())


def _restarts(status: Mapping[str, Any]) -> dict[int, int]:
    return {r["ordinal"]: r.get("restarts", 0) for r in status.get("replicaStatuses", [])}


def _reason(status: Mapping[str, Any]) -> str:
    return str(find(status, Condition.READY).get("reason", ""))


class Exported(Collector):
    """Exports only the label values of existing servers, so there are never more than servers."""

    servers: Servers | None = None

    def __init__(self, *, owners: bool = False) -> None:
        """Export without servers; with `owners`, count them by owner, too."""
        self.owners = owners

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """The metrics without values."""
        labels = ["namespace", "flavor", "phase"]
        return (
            GaugeMetricFamily(
                f"{PREFIX}devservers",
                "DevServers. flavor is empty if there is no flavor of that name. With "
                f"{OWNERS}=true, there is the label owner as well.",
                labels=[*labels, "owner"] if self.owners else labels,
            ),
            GaugeMetricFamily(
                f"{PREFIX}devserver_waiting_seconds",
                "How long the longest waiting DevServer has not been Ready although it should run, "
                "by the reason of its condition Ready.",
                labels=["namespace", "phase", "reason"],
            ),
        )

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The metrics of the process's servers."""
        count, waiting = self.describe()
        if self.servers:
            now, doing = self.servers.steady(), self.servers.doing
            for labels, number in Tally(starmap(self._labels, doing.items())).items():
                count.add_metric(labels, number)
            waits: dict[tuple[str, str, str], float] = {}
            for key, one in doing.items():
                if one.wait:
                    of = key.namespace, one.phase, one.reason
                    waits[of] = max(waits.get(of, 0), now - one.wait.since)
            for of, seconds in waits.items():
                waiting.add_metric(of, seconds)
        return count, waiting

    def _labels(self, key: Key, one: Doing) -> tuple[str, ...]:
        labels = key.namespace, one.flavor, one.phase
        return (*labels, one.owner) if self.owners else labels


_EXPORTED = Exported(owners=os.environ.get(OWNERS) == "true")
REGISTRY.register(_EXPORTED)
