"""What is done about one server: its status, its wake, its end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from devctl_observer.control.controller import Controller
from devctl_observer.control.losses import GRACE
from devctl_observer.servers.deadlines import is_due, next_look
from devctl_observer.servers.expiry import expire
from devctl_observer.servers.model import SERVER, Server
from devctl_observer.servers.refusal import addition
from devctl_observer.servers.status import OWN, server_status
from devctl_observer.servers.transitions import transitions
from devctl_observer.servers.wake import digest, missing, wake_value

if TYPE_CHECKING:
    from devctl_observer.control.clock import Clock
    from devctl_observer.control.cluster_api import ClusterApi
    from devctl_observer.servers.caches import Caches
    from devctl_observer.servers.status import Observed
    from devctl_observer.watching.store import Key

_DOUBT = 60.0
"""Seconds until a server is looked at again that is due by our clock alone."""


class ServerController(Controller[Server]):
    """Handler of the work queue of servers.

    Args:
        caches: What was observed.
        api: What can be changed.
        clock: What time it is.
    """

    own = OWN

    def __init__(self, caches: Caches, api: ClusterApi, clock: Clock) -> None:
        """Count from zero."""
        super().__init__(SERVER, caches.servers, api, clock)
        self._caches = caches

    async def _look(self, key: Key, item: Server) -> float | None:
        now = self._clock.now()
        if await expire(self._api, item, now):
            return None
        seen = self._caches.observe(key, item)
        wanted = server_status(seen, now)
        # Without pods it is the reason of all the rest, and told as such.
        unapplied = addition(item) if seen.pods else ""
        events = transitions(item.status, wanted, unapplied)
        server = await self._write(key, item, wanted, events)
        lost = missing(seen)
        unsure = self._losses.is_unsure(key, lost=bool(lost))
        await self._wake_if(key, replace(seen, server=server), [] if unsure else lost)
        if is_due(server, now):
            return _DOUBT
        if unsure:
            return GRACE
        wait = next_look(server, now)
        # Timers may fire a moment early; a second later it is certainly time.
        return wait.total_seconds() + 1 if wait else None

    async def _wake_if(self, key: Key, seen: Observed, lost: list[str]) -> None:
        """Have the role run again if what it failed for is there now, or what it made is not."""
        server, why = seen.server, "what it waited for is there"
        value = wake_value(server, seen.flavors, self._caches.children.grew(key.namespace))
        if lost:
            value, why = digest(server, *lost, self._caches.gone.get(key, "")), "it lost a part"
        if value is not None and value != server.wake:
            await self._wake(key, server, value, why)
