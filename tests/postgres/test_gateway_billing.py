"""What has run is charged once by however many replicas, on both databases as real ones."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from devctl_gateway.billing.reconciling import differences
from devctl_gateway.loops.settlement import settle
from devctl_gateway.store import append_only, ledger
from devctl_gateway.store.engine import begin, connect, make_engine
from sqlalchemy import text
from support.gateway_billing import ACCOUNT, HOUR_COSTS, job, moment, prepare, run
from support.gateway_store import made

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sqlalchemy.ext.asyncio import AsyncEngine

pytestmark = pytest.mark.anyio
NOW = moment(9 * 3600)


@pytest.fixture
async def replicas(url: str) -> AsyncIterator[list[AsyncEngine]]:
    """The connections of three replicas to one database."""
    async with made(url) as first:
        others = [make_engine(url) for _ in range(2)]
        yield [first, *others]
        for each in others:
            await each.dispose()


async def test_replicas_that_settle_at_once_in_any_order_charge_once(
    replicas: list[AsyncEngine],
) -> None:
    names = [f"job-{number}" for number in range(8)]
    await prepare(replicas[0], *names)
    runs = {n: [run(f"{n}-{end}", 0, 3600 * end) for end in (1, 2, 3)] for n in names}
    forwards = {n: job(n, *runs[n], phase="Failed") for n in names}
    backwards = {n: job(n, *runs[n][::-1], phase="Failed") for n in names[::-1]}
    new = await asyncio.gather(
        *(settle(each, seen, NOW) for each in replicas for seen in (forwards, backwards))
    )
    assert sum(new) == 24
    async with connect(replicas[0]) as connection:
        assert await ledger.balance(connection, ACCOUNT) == -8 * 6 * HOUR_COSTS
        assert len(await ledger.of_job(connection, "job-0")) == 9
        assert await differences(connection) == []


async def test_what_somebody_has_tampered_with_is_found(replicas: list[AsyncEngine]) -> None:
    engine = replicas[0]
    await prepare(engine, "job-1")
    await settle(engine, {"job-1": job("job-1", run("a", 0, 3600))}, NOW)
    async with begin(engine) as connection:
        for statement in append_only.drop(engine.dialect.name, "ledger"):
            await connection.execute(text(statement))
        await connection.execute(text("UPDATE ledger SET amount = 0 WHERE kind = 'gpu'"))
        (found,) = await differences(connection)
    assert found.startswith("pod a, gpu: charged is")
