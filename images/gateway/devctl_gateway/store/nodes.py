"""Registered nodes and their agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import RowMapping, Select, bindparam, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.store.rows import all_rows, bounds, paged
from devctl_gateway.store.tables import AGENTS, NODES, PRICES
from devctl_gateway.store.unique import add_once

_TABLE = NODES.c
_HOURLY = ("gpu_hour", "core_hour", "gigabyte_hour")


def _query() -> Select[Any]:
    """Nodes with their latest price, which is None if they have none."""
    latest = (
        select(PRICES.c.node_id, func.max(PRICES.c.id).label("price_id"))
        .group_by(PRICES.c.node_id)
        .subquery()
    )
    return (
        select(NODES, *(PRICES.c[name] for name in _HOURLY))
        .outerjoin(latest, latest.c.node_id == _TABLE.id)
        .outerjoin(PRICES, PRICES.c.id == latest.c.price_id)
    )


_ALL = _query()
_BY_NAME = _ALL.order_by(_TABLE.node_name)
_ONE = _ALL.where(_TABLE.id == bindparam("node_id"))


async def get(connection: AsyncConnection, node_id: str) -> RowMapping | None:
    """A node."""
    return next(iter(await all_rows(connection, _ONE, {"node_id": node_id})), None)


async def named(connection: AsyncConnection, node_name: str) -> RowMapping | None:
    """The node with a name in the cluster."""
    return next(iter(await all_rows(connection, _ALL.where(_TABLE.node_name == node_name))), None)


async def everything(connection: AsyncConnection) -> Sequence[RowMapping]:
    """All nodes, by name."""
    return await all_rows(connection, _BY_NAME)


async def ids(connection: AsyncConnection) -> Mapping[str, str]:
    """The IDs of all nodes, by their names in the cluster."""
    found = await connection.execute(select(_TABLE.node_name, _TABLE.id))
    return {row.node_name: row.id for row in found}


async def page(
    connection: AsyncConnection,
    *,
    gpu_type: str | None,
    after: tuple[datetime, str] | None,
    limit: int,
) -> Sequence[RowMapping]:
    """Nodes, the newest first.

    Args:
        connection: To the database.
        gpu_type: Only those with this type of GPU; None for all.
        after: registered_at and ID of the last one of the page before.
        limit: Rows at most.
    """
    query = _page(typed=gpu_type is not None, further=after is not None)
    values = {} if gpu_type is None else {"gpu_type": gpu_type}
    return await all_rows(connection, query, values | bounds(after, limit))


@cache
def _page(*, typed: bool, further: bool) -> Select[Any]:
    query = _ALL.where(_TABLE.gpu_type == bindparam("gpu_type")) if typed else _ALL
    return paged(query, (_TABLE.registered_at, _TABLE.id), further=further)


async def add(connection: AsyncConnection, values: Mapping[str, Any]) -> bool:
    """Register a node; whether no other one has its name."""
    return await add_once(connection, NODES, **values)


async def change(connection: AsyncConnection, node_id: str, **values: Any) -> None:
    """Change a node."""
    new = values | {"version": _TABLE.version + 1}
    await connection.execute(update(NODES).where(_TABLE.id == node_id).values(**new))


async def hear(
    connection: AsyncConnection, node_id: str, now: datetime, health: str, reported: dict[str, Any]
) -> bool:
    """Note a heartbeat, unless a later one is known; whether it was noted.

    It changes nothing that a client may have seen with an ETag.
    """
    older = or_(_TABLE.heartbeat_at.is_(None), _TABLE.heartbeat_at <= now)
    new = {"heartbeat_at": now, "health_status": health, "reported": reported}
    done = await connection.execute(update(NODES).where(_TABLE.id == node_id, older).values(**new))
    return done.rowcount == 1


async def set_agent(
    connection: AsyncConnection, agent_id: str, node_id: str, version: str, now: datetime
) -> str:
    """Note the agent of a node; its ID, which stays the same."""
    new = {"agent_version": version, "registered_at": now}
    if await add_once(connection, AGENTS, id=agent_id, node_id=node_id, **new):
        return agent_id
    await connection.execute(update(AGENTS).where(AGENTS.c.node_id == node_id).values(**new))
    found = await connection.scalar(select(AGENTS.c.id).where(AGENTS.c.node_id == node_id))
    return str(found)


async def agent(connection: AsyncConnection, agent_id: str) -> RowMapping | None:
    """An agent, with its node's last heartbeat."""
    query = (
        select(AGENTS, _TABLE.heartbeat_at, _TABLE.health_status, _TABLE.node_name)
        .join(NODES, _TABLE.id == AGENTS.c.node_id)
        .where(AGENTS.c.id == agent_id)
    )
    return (await connection.execute(query)).mappings().one_or_none()
