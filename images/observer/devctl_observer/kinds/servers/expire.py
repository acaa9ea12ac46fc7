"""Deletes servers that have expired, and knows since when each has been stopped."""

from __future__ import annotations

import logging
from datetime import datetime

from devctl_observer.control.cluster_api import ClusterApi
from devctl_observer.judging.clocks import to_text
from devctl_observer.judging.model import Transition
from devctl_observer.kinds.servers.deadlines import SKEW, Limit, expiry, is_due, stopped_at
from devctl_observer.kinds.servers.figures import EXPIRED, STOPS
from devctl_observer.kinds.servers.model import SERVER, Server
from devctl_observer.kinds.servers.observed import Observed

log = logging.getLogger(__name__)


async def stopped_since(api: ClusterApi, seen: Observed, now: datetime) -> datetime | None:
    """Since when a server has been stopped and has no pods; None if it runs.

    The first to see it writes it down. Clocks may be wrong then, so it is the later of ours and the
    API server's, and it is corrected once both have been proved wrong.
    """
    server = seen.server
    if not server.spec.stopped or server.going or seen.pods:
        return None
    known = stopped_at(server)
    if known and known <= now + SKEW:
        return known
    clock = (await api.read(SERVER, server.metadata)).clock
    latest = max(now, clock)
    return min(known, latest) if known else latest


async def expire(api: ClusterApi, server: Server, now: datetime) -> bool:
    """Delete a server that has expired by our clock and by the API server's.

    It is read again first, past the cache, and the deletion applies to that very version only.

    Returns:
        Whether it was deleted.
    """
    if not is_due(server, now):
        return False
    fresh = await api.read(SERVER, server.metadata)
    found = fresh.item
    if found is None or found.metadata.uid != server.metadata.uid:
        return False
    meta, end = found.metadata, expiry(found, now)
    because = "its timeToLive has passed"
    if end and end.limit is Limit.DELETE_AFTER_STOPPED:
        because = f"it has been stopped since {found.status.get('stoppedAt')}"
    if not is_due(found, now, fresh.clock) or not await api.delete(SERVER, meta):
        return False
    if not found.spec.stopped:
        STOPS.labels(reason=EXPIRED).inc()
    log.info("%s/%s: deleted because %s", meta.namespace, meta.name, because)
    message = f"deleted at {to_text(now)} because {because}; its files are kept"
    said = Transition("Normal", EXPIRED, message)
    await api.tell(SERVER, meta, meta.resource_version, said)
    return True
