"""Stops servers for other reasons than idleness: a suspended user, or a run that is over."""

from __future__ import annotations

import logging
from datetime import datetime

from devctl.api.labels import STOPPED_BY, STOPPED_BY_MESSAGE
from devctl_observer.control.cluster_api import ClusterApi
from devctl_observer.judging.clocks import to_text
from devctl_observer.judging.model import Transition
from devctl_observer.kinds.servers.deadlines import Limit
from devctl_observer.kinds.servers.figures import STOPS, SUSPENDED
from devctl_observer.kinds.servers.idle_status import length_of
from devctl_observer.kinds.servers.model import SERVER, Server
from devctl_observer.kinds.servers.runtime import is_over

log = logging.getLogger(__name__)


async def stop(api: ClusterApi, server: Server, user: str) -> None:
    """Stop the server of a suspended user; one that has changed meanwhile is looked at again."""
    if server.ends or not await api.change(SERVER, server.metadata, {"stopped": True}):
        return
    STOPS.labels(reason=SUSPENDED).inc()
    meta = server.metadata
    log.info("%s/%s: stopped, user %s is suspended", meta.namespace, meta.name, user)
    message = f"stopped because user `{user}` is suspended; its files are kept"
    await api.tell(SERVER, meta, meta.resource_version, Transition("Normal", SUSPENDED, message))


async def end_run(api: ClusterApi, server: Server, now: datetime) -> bool:
    """Stop a server whose run is over by our clock and by the API server's.

    It is read again first, past the cache, and the change applies to that very version only.

    Returns:
        Whether it was stopped.
    """
    fresh = await api.read(SERVER, server.metadata)
    found = fresh.item
    if found is None or found.metadata.uid != server.metadata.uid:
        return False
    if not is_over(found, now, fresh.clock):
        return False
    length = length_of(found.spec.lifecycle.max_runtime)
    message = (
        f"stopped at {to_text(now)} after it had run for {length}, the most that"
        f" spec.lifecycle.maxRuntime allows (since {found.status.get('startedAt')})"
    )
    notes = {STOPPED_BY: str(Limit.MAX_RUNTIME), STOPPED_BY_MESSAGE: message}
    if not await api.change(SERVER, found.metadata, {"stopped": True}, notes):
        return False
    STOPS.labels(reason=Limit.MAX_RUNTIME).inc()
    log.info("%s/%s: %s", found.metadata.namespace, found.metadata.name, message)
    return True
