"""Deletes a server whose time has come, and nothing else."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from devctl_observer.judging.model import Transition
from devctl_observer.judging.timestamps import to_text
from devctl_observer.servers.deadlines import is_due
from devctl_observer.servers.model import SERVER

if TYPE_CHECKING:
    from datetime import datetime

    from devctl_observer.control.cluster_api import ClusterApi
    from devctl_observer.servers.model import Server

log = logging.getLogger(__name__)


async def expire(api: ClusterApi, server: Server, now: datetime) -> bool:
    """Delete a server if it is due by our clock and by the API server's, as it is stored now.

    The object is read again first, past the cache; the deletion then holds for that very version.

    Returns:
        Whether it was deleted.
    """
    if not is_due(server, now):
        return False
    fresh = await api.read(SERVER, server.metadata)
    found = fresh.item
    if found is None or found.metadata.uid != server.metadata.uid:
        return False
    meta = found.metadata
    if not is_due(found, now, fresh.clock) or not await api.delete(SERVER, meta):
        return False
    log.info("%s/%s: deleted, its timeToLive is over", meta.namespace, meta.name)
    message = f"the server was deleted at {to_text(now)}: its timeToLive is over; its files stay"
    said = Transition("Normal", "Expired", message)
    await api.tell(SERVER, meta, meta.resource_version, said)
    return True
