"""Reconciles a server: writes its status, triggers its role, and stops or deletes it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from lightkube.models.core_v1 import Pod
from lightkube.resources.core_v1 import PersistentVolumeClaim

from devctl.api.hooks import End
from devctl.api.workloads import PREEMPTED
from devctl_observer.control.process import Process
from devctl_observer.control.role_controller import RoleController, soonest
from devctl_observer.judging.model import meta_of
from devctl_observer.kinds.activity.reports import Reports
from devctl_observer.kinds.servers.deadlines import is_due, next_look
from devctl_observer.kinds.servers.ended_pods import Cause, EndedPods
from devctl_observer.kinds.servers.expire import expire, stopped_since
from devctl_observer.kinds.servers.figures import EXPIRED, STOPS, SUSPENDED, Servers
from devctl_observer.kinds.servers.hook_outcomes import event_of, hook_transitions, merged
from devctl_observer.kinds.servers.idle_status import idle_status
from devctl_observer.kinds.servers.idle_stop import IdleServers
from devctl_observer.kinds.servers.model import SERVER, Server
from devctl_observer.kinds.servers.notice import notice
from devctl_observer.kinds.servers.observed import Caches, Observed
from devctl_observer.kinds.servers.phase import addition
from devctl_observer.kinds.servers.queueing import is_preempted
from devctl_observer.kinds.servers.runtime import is_over, next_end
from devctl_observer.kinds.servers.status import OWN, server_status
from devctl_observer.kinds.servers.stops import end_run, stop
from devctl_observer.kinds.servers.transitions import transitions
from devctl_observer.kinds.servers.use_figures import Uses
from devctl_observer.kinds.servers.wake import cause, missing
from devctl_observer.watching.store import Key

log = logging.getLogger(__name__)

_DOUBT = 60.0
"""Seconds until a server whose time has come only by our clock is checked again."""
_LATE = 0.1
"""Seconds by which timers are set late where a second would matter."""


class ServerController(RoleController[Server]):
    """Handles the work queue of servers."""

    word = "devserver"
    own = OWN

    def __init__(
        self, caches: Caches, suspended: Mapping[str, str], reports: Reports, process: Process
    ) -> None:
        """Start without any state; `suspended` has users by their namespaces."""
        super().__init__(SERVER, caches.servers, process)
        self._idle = IdleServers(reports, process)
        self._caches, self._suspended = caches, suspended
        self._figures, self._uses = Servers(process.clock.steady), Uses(process.clock.steady)
        self._ended = EndedPods()
        self.noticed: Callable[[Key], None] = lambda _: None
        """Called with each server about whose stop people are told something else."""

    def see_pod(self, key: Key, pod: Pod, *, gone: bool) -> None:
        """Note why a pod ends and how its hooks ended, before it is gone."""
        self._ended.see(key, pod, lambda: self._cause(key, pod))
        if gone:
            self._ended.gone(pod)

    def see_deleted(self, key: Key, server: Server) -> None:
        """Remember a deleted server for the hooks of its pods."""
        event = EXPIRED if is_due(server, self._clock.now()) else str(End.DELETED)
        self._ended.delete(key, Cause(server.metadata, event))

    def _cause(self, key: Key, pod: Pod) -> Cause | None:
        """Whose a pod is that begins to end, and why it does."""
        server, born = self.store.get(key), meta_of(pod.metadata).creation_timestamp
        made = server.metadata.creation_timestamp if server else None
        if server is None or (born and made and born < made):
            return self._ended.deleted(key)
        queued = self._caches.queued(key)
        suspended = SUSPENDED if key.namespace in self._suspended else ""
        preempted = bool(queued and queued.preempted)
        event = event_of(pod, server, preempted=preempted, suspended=suspended)
        return Cause(server.metadata, event)

    async def look(self, key: Key) -> float | None:
        """Reconcile a server, and report on the hooks of deleted ones of the same name."""
        item = self.store.get(key)
        uid = item.metadata.uid if item else ""
        others = [told for told in self._ended.of(key) if told.server.uid != uid]
        for meta, end in others:
            for said in hook_transitions([], end.to_status(), meta.name):
                await self._api.tell(SERVER, meta, meta.resource_version, said)
        self._ended.drop(key, others)
        return await super().look(key)

    def _forget(self, key: Key) -> None:
        super()._forget(key)
        self._figures.forget(key)
        self._uses.forget(key)
        self._idle.forget(key)

    async def _look(self, key: Key, item: Server) -> float | None:
        now = self._clock.now()
        if await expire(self._api, item, now):
            return None
        if user := self._suspended.get(key.namespace):
            await stop(self._api, item, user)
        seen = await self._with_shared(self._caches.observe(key, item))
        seen = replace(seen, stopped=await stopped_since(self._api, seen, now))
        idle = self._idle.judge(key, seen, now)
        told = [each for each in self._ended.of(key) if each.server.uid == item.metadata.uid]
        known = item.status.get("hooks") or []
        hooks = merged(known, [each.ended for each in told])
        wanted = server_status(seen, now, idle_status(item, idle), hooks)
        # Without pods, the failure is the reason of Ready already.
        unapplied = addition(item) if seen.pods else ""
        events = [
            *transitions(item.status, wanted, unapplied),
            *hook_transitions(known, hooks, item.metadata.name),
        ]
        server = await self._write(key, item, wanted, events)
        self._ended.drop(key, told)
        if notice(server) != notice(item):
            self.noticed(key)
        self._figures.note(item, wanted, seen.flavor, now)
        self._uses.note(key, wanted, seen.flavor, seen.gpus, idle.judgement.verdict)
        again = None
        if is_preempted(seen):
            # After the status, which keeps the reason. Otherwise, it would start again whenever
            # there is quota, and be preempted again.
            if await self._api.change(SERVER, server.metadata, {"stopped": True}):
                STOPS.labels(reason=PREEMPTED).inc()
            log.info("%s/%s: stopped, preempted", *key)
        elif idle.judgement.stop:
            again = None if await self._idle.stop(server, idle, now) else _DOUBT
        elif is_over(server, now):
            again = None if await end_run(self._api, server, now) else _DOUBT
        else:
            await self._idle.clean(server)
        woken = await self._wake_if(
            key, server, missing(seen), lambda known: cause(server, seen.flavors, known)
        )
        if is_due(server, now):
            return _DOUBT
        sooner = idle.judgement.again
        # Plus something, because timers may fire slightly early.
        return soonest(
            again,
            woken,
            *(
                wait.total_seconds() + 1
                for wait in (next_look(server, now), next_end(server, now))
                if wait
            ),
            sooner + _LATE if sooner is not None else None,
        )

    async def _with_shared(self, seen: Observed) -> Observed:
        """A copy with the shared claim that its pods wait for, if that does not exist.

        The claim is not ours, so it is not watched. The scheduler retries once it is created.
        """
        name, meta = seen.awaited, seen.server.metadata
        if not name or await self._api.list_now(PersistentVolumeClaim, meta.namespace, name):
            return seen
        return replace(seen, around=replace(seen.around, absent=name))
