"""Deletes GPUWorkerNodes that nobody has registered, such as those of a database that is gone.

One that has a registration is never deleted: the row comes first, and is looked for again right
before.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from devctl_gateway.cluster.objects import Thing
from devctl_gateway.context import Context
from devctl_gateway.store import nodes
from devctl_gateway.store.engine import connect

log = logging.getLogger(__name__)


async def remove_orphans(context: Context, since: dict[str, datetime]) -> None:
    """Delete those that have had no registration for a while.

    Args:
        context: Of the process.
        since: When this process first saw each of them without one; it is kept up to date.
    """
    if not context.cluster.synced:
        # What happens meanwhile is not seen: their time begins anew.
        since.clear()
        return
    known = dict(context.cluster.workers)
    async with connect(context.engine) as connection:
        registered = set((await nodes.ids(connection)).values())
    longest = timedelta(seconds=context.settings.orphan_seconds)
    for name in due(known, registered, since, now=context.clock(), longest=longest):
        if await _is_registered(context, name):
            continue
        await context.cluster.delete_node(known[name])
        log.warning("%s: deleted, as no node of this ID is registered", name)


def due(
    known: Mapping[str, Thing],
    registered: Iterable[str],
    since: dict[str, datetime],
    *,
    now: datetime,
    longest: timedelta,
) -> list[str]:
    """The names of those that are to be deleted.

    Args:
        known: GPUWorkerNodes by name.
        registered: The IDs of registered nodes.
        since: As for `remove_orphans`.
        now: The time.
        longest: For how long one stays.
    """
    orphans = known.keys() - set(registered)
    for name in since.keys() - orphans:
        del since[name]
    return sorted(name for name in orphans if now - since.setdefault(name, now) >= longest)


async def _is_registered(context: Context, name: str) -> bool:
    async with connect(context.engine) as connection:
        return await nodes.get(connection, name) is not None
