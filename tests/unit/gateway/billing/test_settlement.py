"""What has run is charged once, at the price that was valid when it began."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from devctl_gateway.billing.balance import balance_of, open_cost
from devctl_gateway.billing.charges import Held
from devctl_gateway.billing.reconciling import differences
from devctl_gateway.loops.settlement import settle
from devctl_gateway.store import ledger, runs, tables
from devctl_gateway.store.engine import begin, connect, make_engine
from sqlalchemy import select, text, update
from support.gateway_billing import (
    ACCOUNT,
    HOUR_COSTS,
    SPEC,
    job,
    moment,
    prepare,
    price,
    run,
)
from support.gateway_store import sqlite_url

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

pytestmark = pytest.mark.anyio
NOW = moment(9 * 3600)


async def charged(engine: AsyncEngine) -> int:
    async with connect(engine) as connection:
        return -await ledger.balance(connection, ACCOUNT)


async def unlike(engine: AsyncEngine) -> list[str]:
    async with connect(engine) as connection:
        return await differences(connection)


async def settled(engine: AsyncEngine) -> list[str]:
    async with connect(engine) as connection:
        query = select(tables.JOBS.c.id).where(tables.JOBS.c.settled_at.is_not(None))
        return list(await connection.scalars(query))


async def test_an_hour_costs_its_price(engine: AsyncEngine) -> None:
    await prepare(engine, "job-1")
    ended = job("job-1", run("a", 0, 3600), phase="Completed")
    assert await settle(engine, {"job-1": ended}, NOW) == 1
    assert await charged(engine) == HOUR_COSTS
    assert await settled(engine) == ["job-1"]
    assert await unlike(engine) == []


async def test_a_job_that_runs_is_charged_for_what_has_ended(engine: AsyncEngine) -> None:
    await prepare(engine, "job-1")
    one = job("job-1", run("a", 0, 3600), run("b", 4000))
    await settle(engine, {"job-1": one}, NOW)
    assert await charged(engine) == HOUR_COSTS
    assert await settled(engine) == []
    async with connect(engine) as connection:
        more = await open_cost(connection, one, Held.of(SPEC), moment(4000 + 1800))
        left = await balance_of(connection, ACCOUNT, {"job-1": one}, moment(4000 + 1800))
    assert more == HOUR_COSTS // 2
    assert (left.settled, left.open, left.left) == (-HOUR_COSTS, more, -HOUR_COSTS - more)


async def test_a_price_is_that_of_the_beginning(engine: AsyncEngine) -> None:
    await prepare(engine, "job-1")
    async with begin(engine) as connection:
        await price(connection, 1800, gpu_hour=0, core_hour=0, gigabyte_hour=0)
    one = job("job-1", run("before", 0, 3600), run("after", 1800, 3600), phase="Failed")
    await settle(engine, {"job-1": one}, NOW)
    assert await charged(engine) == HOUR_COSTS
    assert await unlike(engine) == []


async def test_a_node_without_a_price_costs_nothing_and_is_recorded(engine: AsyncEngine) -> None:
    await prepare(engine, "job-1")
    one = job("job-1", run("a", 0, 3600, node="other"), run("b", -60, -30), phase="Failed")
    assert await settle(engine, {"job-1": one}, NOW) == 2
    assert await charged(engine) == 0
    async with connect(engine) as connection:
        assert len(await runs.of_job(connection, "job-1")) == 2
        assert len(await ledger.of_job(connection, "job-1")) == 6


async def test_repeated_late_or_at_once_it_is_charged_once(
    engine: AsyncEngine, tmp_path: Path
) -> None:
    names = [f"job-{number}" for number in range(5)]
    await prepare(engine, *names)
    jobs = {n: job(n, run(f"{n}-a", 0, 3600), run(f"{n}-b", 0, 7200)) for n in names}
    replicas = [engine, *(make_engine(sqlite_url(tmp_path)) for _ in range(2))]
    new = await asyncio.gather(*(settle(each, jobs, NOW) for each in replicas for _ in range(2)))
    assert sum(new) == 10
    ended = {
        name: one | {"status": one["status"] | {"phase": "Failed"}} for name, one in jobs.items()
    }
    assert await settle(engine, ended, NOW) == 0
    assert await charged(engine) == 5 * 3 * HOUR_COSTS
    assert await settled(engine) == names
    assert await unlike(engine) == []
    for each in replicas[1:]:
        await each.dispose()


async def test_what_agents_report_changes_nothing(engine: AsyncEngine) -> None:
    await prepare(engine, "job-1")
    async with begin(engine) as connection:
        lies: dict[str, Any] = {"reported": {"status": "completed", "seconds": 10**9}}
        await connection.execute(update(tables.JOBS).values(lies))
        await connection.execute(update(tables.NODES).values(reported={"current_jobs": 10**6}))
    await settle(engine, {"job-1": job("job-1")}, NOW)
    await settle(engine, {}, NOW)
    assert await charged(engine) == 0


async def test_an_end_that_changes_afterwards_is_not_charged_again(engine: AsyncEngine) -> None:
    await prepare(engine, "job-1")
    await settle(engine, {"job-1": job("job-1", run("a", 0, 3600))}, NOW)
    later = job("job-1", run("a", 0, 7200), phase="Completed")
    await settle(engine, {"job-1": later}, NOW)
    assert await charged(engine) == HOUR_COSTS
    assert await unlike(engine) == []


@pytest.mark.parametrize(
    ("tamper", "says"),
    [
        ("UPDATE ledger SET amount = amount - 1 WHERE kind = 'gpu'", "and it should be"),
        ("UPDATE ledger SET account_id = 'acc-2' WHERE kind = 'core'", "and it should be"),
        ("DELETE FROM ledger WHERE kind = 'gigabyte'", "was not charged"),
        ("DELETE FROM runs", "was charged without a run"),
        ("UPDATE prices SET gpu_hour = 1", "and it should be"),
    ],
)
async def test_what_somebody_has_tampered_with_is_found(
    engine: AsyncEngine, tamper: str, says: str
) -> None:
    await prepare(engine, "job-1")
    await settle(engine, {"job-1": job("job-1", run("a", 0, 3600), phase="Completed")}, NOW)
    async with begin(engine) as connection:
        for table in ("ledger", "runs", "prices"):
            for verb in ("update", "delete"):
                await connection.execute(text(f"DROP TRIGGER {table}_refuse_{verb}"))
        other = "INSERT INTO accounts SELECT 'acc-2', issuer, 'other', name, prepaid, created_at"
        await connection.execute(text(f"{other} FROM accounts"))
        await connection.execute(text(tamper))
    found = await unlike(engine)
    assert found
    assert all(says in each for each in found)
