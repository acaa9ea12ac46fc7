"""What is done about one server or one flavor: derive its status, write it if it differs."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from lightkube import ApiError

from devctl.api.devserver import FlavorCondition
from devctl_observer import kinds
from devctl_observer.applied import addition
from devctl_observer.conditions import own_part
from devctl_observer.deadlines import is_due, next_look
from devctl_observer.expiry import expire
from devctl_observer.flavor_status import flavor_status
from devctl_observer.losses import GRACE, Losses
from devctl_observer.missing import missing
from devctl_observer.model import parse_flavor, parse_server
from devctl_observer.server_status import OWN, server_status
from devctl_observer.timestamps import utc_now
from devctl_observer.transitions import transitions
from devctl_observer.wake import digest, wake_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl_observer.caches import Caches
    from devctl_observer.cluster_api import ClusterApi
    from devctl_observer.model import Server
    from devctl_observer.server_status import Observed
    from devctl_observer.store import Key

log = logging.getLogger(__name__)

_DOUBT = 60.0
"""Seconds until a server is looked at again that is due by our clock alone."""


class Controllers:
    """Handlers for the work queues of servers and flavors.

    Args:
        caches: What was observed.
        api: What can be changed.
        steady: Seconds that pass, from whenever.
    """

    def __init__(
        self, caches: Caches, api: ClusterApi, *, steady: Callable[[], float] = time.monotonic
    ) -> None:
        """Count from zero."""
        self._caches = caches
        self._api = api
        self._losses = Losses(steady)
        self.writes = {"devserver": 0, "flavor": 0}
        self.looks = {"devserver": 0, "flavor": 0}
        self.wakes = 0

    async def server(self, key: Key) -> float | None:
        """Bring a server's status up to date; returns the seconds until time changes it."""
        server = self._caches.servers.get(key)
        if server is None:
            self._losses.forget(key)
            return None
        self.looks["devserver"] += 1
        now = utc_now()
        if await expire(self._api, server, now):
            return None
        seen = self._caches.observe(key, server)
        wanted = server_status(seen, now)
        lost = missing(seen)
        unsure = self._losses.is_unsure(key, lost=bool(lost))
        try:
            if own_part(server.status, OWN) != wanted:
                server = await self._write(key, server, wanted)
            await self._wake(key, replace(seen, server=server), [] if unsure else lost)
        except ApiError as error:
            # It is gone, or another one has its name: the watch is about to say so.
            if error.status.code in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
                return None
            raise
        if is_due(server, now):
            return _DOUBT
        if unsure:
            return GRACE
        wait = next_look(server, now)
        # Timers may fire a moment early; a second later it is certainly time.
        return wait.total_seconds() + 1 if wait else None

    async def _write(self, key: Key, server: Server, wanted: dict[str, Any]) -> Server:
        """Write a server's status and tell what is new in it; returns the server with it."""
        applied = await self._api.apply_status(kinds.SERVER, server.metadata, wanted)
        self.writes["devserver"] += 1
        written = self._keep(key, applied)
        version = written.metadata.resource_version
        for said in transitions(server.status, wanted, addition(server)):
            await self._api.tell(kinds.SERVER, server.metadata, version, said)
        return written

    async def _wake(self, key: Key, seen: Observed, lost: list[str]) -> None:
        """Have the role run again if what it failed for is there now, or what it made is not."""
        server, why = seen.server, "its flavor can be used now"
        value = wake_value(server, seen.flavors)
        if lost:
            value, why = digest(server, *lost, self._caches.gone.get(key, "")), "it lost a part"
        if value is None or value == server.wake:
            return
        applied = await self._api.wake(kinds.SERVER, server.metadata, value)
        self.wakes += 1
        self._keep(key, applied)
        log.info("%s/%s: %s, its role is run again", *key, why)

    def _keep(self, key: Key, applied: dict[str, Any]) -> Server:
        """Know what was written before the watch tells of it."""
        written = parse_server(applied)
        self._caches.servers.wrote(key, int(written.metadata.resource_version or 0), written)
        return written

    async def flavor(self, key: Key) -> float | None:
        """Bring a flavor's status up to date."""
        flavor = self._caches.flavors.get(key)
        if flavor is None:
            return None
        self.looks["flavor"] += 1
        caches = self._caches
        nodes = list(caches.nodes)
        wanted = flavor_status(flavor, caches.flavors_by_name(), nodes, caches.use, utc_now())
        if own_part(flavor.status, FlavorCondition) != wanted:
            try:
                applied = await self._api.apply_status(kinds.FLAVOR, flavor.metadata, wanted)
            except ApiError as error:
                if error.status.code in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
                    return None
                raise
            self.writes["flavor"] += 1
            written = parse_flavor(applied)
            version = int(written.metadata.resource_version or 0)
            caches.flavors.wrote(key, version, written)
        return None
