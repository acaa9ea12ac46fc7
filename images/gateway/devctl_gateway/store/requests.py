"""Requests with an Idempotency-Key, and what they were answered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping, bindparam, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.store.tables import REQUESTS
from devctl_gateway.store.unique import add_once

_TABLE = REQUESTS.c
# Not by the names of the columns, which SQLAlchemy keeps for itself in what is updated.
_END = (
    update(REQUESTS)
    .where(_TABLE.actor == bindparam("by"), _TABLE.key == bindparam("named"))
    .values(status=bindparam("said"), answer=bindparam("told"))
)


async def begin(
    connection: AsyncConnection, *, actor: str, key: str, fingerprint: str, now: datetime
) -> RowMapping | None:
    """Begin a request, in the transaction that does what it asks.

    It waits for one with the same key that has begun and not ended, as long as the engine waits
    for any lock.

    Returns:
        The earlier request with that key; None if this is the first, or those before have failed.
    """
    added = await add_once(
        connection, REQUESTS, actor=actor, key=key, fingerprint=fingerprint, created_at=now
    )
    if added:
        return None
    found = await connection.execute(
        select(REQUESTS).where(_TABLE.actor == actor, _TABLE.key == key)
    )
    if (earlier := found.mappings().one_or_none()) is not None:
        return earlier
    # It has been forgotten since.
    return await begin(connection, actor=actor, key=key, fingerprint=fingerprint, now=now)


async def end(
    connection: AsyncConnection, *, actor: str, key: str, status: int, answer: Mapping[str, Any]
) -> None:
    """Keep what a request is answered. No secret is ever in it."""
    values = {"by": actor, "named": key, "said": status, "told": dict(answer)}
    await connection.execute(_END, values)


async def forget(connection: AsyncConnection, before: datetime, limit: int) -> int:
    """Forget requests from before a time: how many there were.

    Args:
        connection: To the database.
        before: Until when.
        limit: Rows at most, so that a transaction stays short.
    """
    old = select(_TABLE.actor, _TABLE.key).where(_TABLE.created_at < before).limit(limit)
    rows = (await connection.execute(old)).all()
    for actor, key in rows:
        await connection.execute(
            delete(REQUESTS).where(
                _TABLE.actor == actor, _TABLE.key == key, _TABLE.created_at < before
            )
        )
    return len(rows)
