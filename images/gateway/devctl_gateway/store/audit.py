"""The audit log: only added to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.store.rows import all_rows
from devctl_gateway.store.tables import AUDIT

_TABLE = AUDIT.c
_ADD = insert(AUDIT)


@dataclass(frozen=True)
class Entry:
    """What somebody does.

    Attributes:
        at: When.
        actor: Who: the ID of an account or a node, mostly.
        action: What, such as `key.create`.
        target: The ID of what they do it to.
        request_id: By which the request is found in the logs.
        details: What else matters; never a secret.
    """

    at: datetime
    actor: str
    action: str
    target: str
    request_id: str
    details: Mapping[str, Any]


@dataclass(frozen=True)
class Wanted:
    """Which entries are asked for; None for any."""

    actor: str | None = None
    action: str | None = None
    target: str | None = None


async def add(connection: AsyncConnection, entry: Entry) -> None:
    """Add what somebody does, in the transaction that does it."""
    await connection.execute(_ADD, asdict(entry))


async def page(
    connection: AsyncConnection, wanted: Wanted, *, before: int | None, limit: int
) -> Sequence[RowMapping]:
    """What was done, the latest first.

    Args:
        connection: To the database.
        wanted: What is asked for.
        before: The number of the last entry of the page before; None for the first page.
        limit: Rows at most.
    """
    query = select(AUDIT).order_by(_TABLE.id.desc())
    for name, value in asdict(wanted).items():
        if value is not None:
            query = query.where(_TABLE[name] == value)
    if before is not None:
        query = query.where(_TABLE.id < before)
    return await all_rows(connection, query.limit(limit))
