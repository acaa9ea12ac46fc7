"""Jobs that have run, as a cluster says it, and an account with a node that pay for each other."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from devctl_gateway.store import prices, tables
from devctl_gateway.store.engine import begin
from sqlalchemy import insert
from support.gateway_store import AT, ROWS

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

ACCOUNT, NODE = "acc-1", "one"
SPEC = {"gpus": 2, "cpuCores": 4, "memoryMegabytes": 2048}
HOURLY = {"gpu_hour": 1_200_000, "core_hour": 30_000, "gigabyte_hour": 4_000}
HOUR_COSTS = 2 * 1_200_000 + 4 * 30_000 + 2 * 4_000
"""An hour of SPEC at HOURLY, in micro-units."""


def moment(seconds: float) -> datetime:
    """A time after the price became valid."""
    return AT + timedelta(seconds=seconds)


def run(uid: str, start: float, end: float | None = None, node: str = NODE) -> dict[str, Any]:
    """An entry of status.runs."""
    found = {"podUID": uid, "podName": uid, "node": node, "startedAt": text(start)}
    return found if end is None else found | {"finishedAt": text(end), "exitCode": 0}


def text(seconds: float) -> str:
    """A time as Kubernetes writes it."""
    return f"{moment(seconds).isoformat()}Z"


def job(name: str, *runs: dict[str, Any], phase: str = "Running") -> dict[str, Any]:
    """A GPUWorkerJob."""
    return {"metadata": {"name": name}, "status": {"phase": phase, "runs": list(runs)}}


async def prepare(engine: AsyncEngine, *jobs: str, account: str = ACCOUNT) -> None:
    """An account that has submitted jobs, and a node with a price."""
    async with begin(engine) as connection:
        for table in (tables.ACCOUNTS, tables.NODES):
            await connection.execute(insert(table).values(ROWS[table]))
        await price(connection, 0)
        for name in jobs:
            row = ROWS[tables.JOBS] | {"id": name, "account_id": account, "spec": SPEC}
            await connection.execute(insert(tables.JOBS).values(row))


async def price(connection: AsyncConnection, start: float, **hourly: int) -> None:
    """The node's price from then on."""
    await prices.add(
        connection, node_id="gpu-1", valid_from=moment(start), set_by=None, **(HOURLY | hourly)
    )
