"""Judges the idleness of servers, and stops those that have been idle for too long."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from datetime import datetime

from devctl.api.conditions import find
from devctl.api.devserver import Condition
from devctl.api.idleness import Idleness
from devctl.api.labels import STOPPED_BY, STOPPED_BY_MESSAGE
from devctl.api.node_activity import ALWAYS_REPORTED, Signal
from devctl_observer.control.process import Process
from devctl_observer.judging.clocks import from_text, to_text
from devctl_observer.judging.conditions import TRUE
from devctl_observer.judging.model import Meta, meta_of
from devctl_observer.judging.pods import ends_at, node_of
from devctl_observer.kinds.activity.model import KIND as ACTIVITY
from devctl_observer.kinds.activity.model import WatchedPod
from devctl_observer.kinds.activity.reports import Reports
from devctl_observer.kinds.servers.figures import STOPS
from devctl_observer.kinds.servers.idle_status import Idling, Moment, timeout_of
from devctl_observer.kinds.servers.idleness import Before, Judgement, Rank, judge, limits
from devctl_observer.kinds.servers.model import SERVER, Lifecycle, Server
from devctl_observer.kinds.servers.notice import notice
from devctl_observer.kinds.servers.observed import Observed
from devctl_observer.kinds.servers.replicas import ordinal
from devctl_observer.watching.store import Key

log = logging.getLogger(__name__)


class IdleServers:
    """Knows which owners were warned by this process, and nothing else."""

    def __init__(self, reports: Reports, process: Process) -> None:
        """Start without any state."""
        self._reports, self._api, self._clock = reports, process.api, process.clock
        self._noticed: dict[Key, float] = {}

    def judge(self, key: Key, seen: Observed, now: datetime) -> Idling:
        """Judge a server, and remember since when its owner has been warned."""
        steady = self._clock.steady()
        life = seen.server.spec.lifecycle
        limit, ranks = limits(life, held(life, now)), self._ranks(seen)
        was_idle = find(seen.server.status, Condition.IDLE).get("status") == TRUE
        before = Before(self._noticed.get(key), was_idle)
        if self._reports.any:
            judgement = judge(ranks, limit, steady, before)
        else:
            judgement = Judgement(Idleness.NOT_MEASURED)
        if judgement.notice:
            self._noticed.setdefault(key, steady)
        elif judgement.verdict is not None:
            self.forget(key)
        return Idling(judgement, ranks, limit, Moment(now, steady))

    def forget(self, key: Key) -> None:
        """Warn the owner again before a server is stopped."""
        self._noticed.pop(key, None)

    async def stop(self, server: Server, of: Idling, now: datetime) -> bool:
        """Stop a server if everything is still as it was judged; returns whether it was stopped.

        Server and reports are read past the caches, which may be late. What is written applies to
        that very version of the server only.
        """
        for node in sorted({rank.node for rank in of.ranks}):
            report = (await self._api.read(ACTIVITY, Meta(node))).item
            if report is None or not self._reports.is_current(report):
                return False
        fresh = await self._api.read(SERVER, server.metadata)
        found = fresh.item
        if found is None or found.metadata.resource_version != server.metadata.resource_version:
            return False
        if max(held(found.spec.lifecycle, clock) for clock in (now, fresh.clock)) > 0:
            return False
        message = (
            f"stopped at {to_text(now)} after {timeout_of(found)} without activity"
            f" (last at {found.status.get('lastActivityAt')}, {found.status.get('lastActivity')})"
        )
        notes = {STOPPED_BY: str(Idleness.STOPPED), STOPPED_BY_MESSAGE: message}
        if not await self._api.change(SERVER, found.metadata, {"stopped": True}, notes):
            return False
        STOPS.labels(reason=Idleness.STOPPED).inc()
        log.info("%s/%s: %s", found.metadata.namespace, found.metadata.name, message)
        return True

    async def clean(self, server: Server) -> None:
        """Remove why a server was stopped once it has been started again."""
        if server.stopped_by and not server.ends:
            notes = {STOPPED_BY: None, STOPPED_BY_MESSAGE: None}
            await self._api.change(SERVER, server.metadata, {}, notes)

    def _ranks(self, seen: Observed) -> Sequence[Rank]:
        """All replicas that the server should have, with the reports on their pods."""
        found = {}
        expected = ALWAYS_REPORTED | ({Signal.PROBE} if seen.probes else frozenset())
        for pod in seen.pods:
            meta, node = meta_of(pod.metadata), node_of(pod)
            runs = pod.status is not None and pod.status.phase == "Running" and not ends_at(pod)
            if runs and node and (number := ordinal(meta.name)) is not None:
                arrival = self._reports.of(node, meta.uid)
                found[number] = Rank(number, node, arrival, expected)
        return [found.get(number, Rank(number)) for number in range(seen.size)]


def held(life: Lifecycle, now: datetime) -> float:
    """For how many more seconds `holdUntil` keeps a server; for ever if it cannot be read."""
    if life.hold_until is None:
        return 0.0
    until = from_text(life.hold_until)
    return max(0.0, (until - now).total_seconds()) if until else math.inf


def watched(uid: str, server: Server) -> WatchedPod | None:
    """What a node's agent is asked for about a pod of a server; None if nothing."""
    limit, text = limits(server.spec.lifecycle, 0), notice(server)
    if limit is None:
        return WatchedPod(uid, notice=text) if text else None
    # At the end of the notice as well, as people may have been active during it.
    moments = {math.ceil(limit.timeout - limit.grace), math.ceil(limit.timeout)}
    return WatchedPod(uid, sorted(moments), text)
