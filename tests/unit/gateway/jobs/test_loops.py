"""What happens without a request: as often as is needed, and of all that need it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest
from devctl_gateway.context import Context
from devctl_gateway.loops import running, settlement, submitter
from devctl_gateway.loops.running import Loop
from devctl_gateway.loops.settlement import settle
from devctl_gateway.loops.submitter import submit_all
from devctl_gateway.settings import Settings
from devctl_gateway.store import jobs
from devctl_gateway.store.engine import connect
from support.gateway_billing import job, moment, prepare, run, text

if TYPE_CHECKING:
    from devctl_gateway.cluster.client import Cluster
    from sqlalchemy.ext.asyncio import AsyncEngine

pytestmark = pytest.mark.anyio
NAMES = [f"job-{number}" for number in range(5)]


class Made:
    """A cluster that takes all jobs."""

    synced = True

    def __init__(self) -> None:
        self.jobs = dict[str, Any]()

    async def apply_job(self, made: dict[str, Any]) -> None:
        self.jobs[made["metadata"]["name"]] = made


async def test_of_many_nudges_few_cost_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_SHORTEST_PAUSE", 0.05)
    steps, stepped = 0, asyncio.Event()

    async def step() -> None:
        nonlocal steps
        steps += 1
        stepped.set()

    loop = Loop("test", step, 3600)
    task = asyncio.create_task(loop.run())
    for _ in range(1000):
        loop.nudge.set()
        await asyncio.sleep(0)
    stepped.clear()
    async with asyncio.timeout(30):  # the last one is not lost
        await stepped.wait()
    task.cancel()
    assert steps < 100


async def test_all_jobs_get_their_objects_however_many_are_read_at_once(
    engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submitter, "_BATCH", 2)
    await prepare(engine, *NAMES)
    cluster = Made()
    await submit_all(Context(Settings(database=""), engine, cast("Cluster", cluster)))
    assert sorted(cluster.jobs) == NAMES


async def test_all_jobs_that_have_ended_are_settled_however_many_are_read_at_once(
    engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settlement, "_BATCH", 2)
    await prepare(engine, *NAMES, "job-running")
    known = {name: job(name, run(name, 0, 60), phase="Completed") for name in NAMES}
    for each in known.values():
        each["status"] |= {"finishedAt": text(60)}
    known["job-running"] = job("job-running", run("uid", 0))
    assert await settle(engine, known, moment(3600)) == len(NAMES)
    async with connect(engine) as connection:
        assert [row["id"] for row in await jobs.unfinished(connection)] == ["job-running"]
