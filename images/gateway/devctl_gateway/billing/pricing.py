"""What runs cost, at the prices that were valid when they began."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.billing.charges import Charge, Held, Price, charges
from devctl_gateway.store import prices
from devctl_gateway.store.runs import Run


async def price_of(connection: AsyncConnection, run: Run) -> Price:
    """The price of a run: that of its node when it began; nothing for a node without one."""
    row = await prices.at(connection, run.node_name, run.started_at)
    if row is None:
        return Price()
    return Price(row["gpu_hour"], row["core_hour"], row["gigabyte_hour"])


async def charges_of(connection: AsyncConnection, run: Run, held: Held) -> list[Charge]:
    """The lines of a run."""
    return list(charges(run.seconds, held, await price_of(connection, run)))
