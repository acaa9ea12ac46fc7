"""Prices of nodes: a new one is added, and the old one goes on for what began before."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import RowMapping, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.store.tables import NODES, PRICES


async def add(  # noqa: PLR0913 - a row
    connection: AsyncConnection,
    *,
    node_id: str,
    valid_from: datetime,
    gpu_hour: int,
    core_hour: int,
    gigabyte_hour: int,
    set_by: str | None,
) -> None:
    """Add a node's price from now on."""
    row = {"gpu_hour": gpu_hour, "core_hour": core_hour, "gigabyte_hour": gigabyte_hour}
    of = {"node_id": node_id, "valid_from": valid_from, "set_by": set_by}
    await connection.execute(insert(PRICES).values(**of, **row))


async def at(connection: AsyncConnection, node_name: str, moment: datetime) -> RowMapping | None:
    """The price of a node at a moment; None if it had none.

    Args:
        connection: To the database.
        node_name: Its name in the cluster.
        moment: Of two prices from the same moment, the one that was added last is valid.
    """
    query = (
        select(PRICES)
        .join(NODES, NODES.c.id == PRICES.c.node_id)
        .where(NODES.c.node_name == node_name, PRICES.c.valid_from <= moment)
        .order_by(PRICES.c.valid_from.desc(), PRICES.c.id.desc())
        .limit(1)
    )
    return (await connection.execute(query)).mappings().one_or_none()
