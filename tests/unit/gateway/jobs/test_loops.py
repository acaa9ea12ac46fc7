"""What happens without a request: as often as is needed, and of all that need it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pytest
from devctl_gateway.context import Context
from devctl_gateway.loops import running, settlement, submitter
from devctl_gateway.loops.running import Loop
from devctl_gateway.loops.settlement import settle
from devctl_gateway.loops.submitter import PATIENCE, submit_all, submit_new
from devctl_gateway.settings import Settings
from devctl_gateway.store import jobs
from devctl_gateway.store.engine import begin, connect
from support.gateway_billing import job, moment, prepare, run, text

if TYPE_CHECKING:
    from devctl_gateway.cluster.client import Cluster
    from sqlalchemy.ext.asyncio import AsyncEngine

pytestmark = pytest.mark.anyio
HOUR = 3600.0
NAMES = [f"job-{number}" for number in range(5)]


class Made:
    """A cluster that takes all jobs."""

    synced = True

    def __init__(self) -> None:
        self.jobs = dict[str, Any]()

    async def create_job(self, made: dict[str, Any]) -> None:
        self.jobs[made["metadata"]["name"]] = made

    async def cancel_job(self, name: str) -> None:
        self.jobs[name]["spec"]["cancelled"] = True


def context_of(engine: AsyncEngine, cluster: Made, seconds: float = 3600) -> Context:
    """With a clock that stands still, so long after jobs were submitted."""
    clock = partial(moment, seconds)
    return Context(Settings(database=""), engine, cast("Cluster", cluster), clock)


async def test_of_many_nudges_few_cost_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_SHORTEST_PAUSE", HOUR)
    steps, stepped = 0, asyncio.Event()

    async def step() -> None:
        nonlocal steps
        steps += 1
        stepped.set()

    loop = Loop("test", step, HOUR)
    task = asyncio.create_task(loop.run())
    for _ in range(1000):
        loop.nudge.set()
        await asyncio.sleep(0)
    assert steps == 1
    stepped.clear()
    clock = asyncio.get_running_loop()
    time = clock.time
    monkeypatch.setattr(clock, "time", lambda: time() + HOUR)
    await stepped.wait()  # the last one is not lost
    task.cancel()
    assert steps == 2


async def test_all_jobs_get_their_objects_however_many_are_read_at_once(
    engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submitter, "_BATCH", 2)
    await prepare(engine, *NAMES)
    cluster = Made()
    await submit_all(context_of(engine, cluster))
    assert sorted(cluster.jobs) == NAMES


async def test_who_has_answered_a_submission_makes_its_object_and_others_wait_first(
    engine: AsyncEngine,
) -> None:
    await prepare(engine, *NAMES)
    cluster = Made()
    answered, other = (context_of(engine, cluster, seconds=1) for _ in range(2))
    answered.submitted.add(NAMES[0])
    assert answered.submitted.event.is_set()
    for context in (other, answered):
        await submit_all(context)
        await submit_new(context)
    assert [*cluster.jobs] == NAMES[:1]
    await submit_all(context_of(engine, cluster, seconds=PATIENCE.total_seconds()))
    assert sorted(cluster.jobs) == NAMES


async def test_what_was_asked_for_while_the_cluster_is_out_of_sight_is_not_forgotten(
    engine: AsyncEngine,
) -> None:
    await prepare(engine, *NAMES)
    cluster = Made()
    context = context_of(engine, cluster, seconds=1)
    context.submitted.add(NAMES[0])
    cluster.synced = False
    await submit_new(context)
    assert not cluster.jobs
    cluster.synced = True
    await submit_new(context)
    assert [*cluster.jobs] == NAMES[:1]


@pytest.mark.parametrize("told", [True, False])
async def test_a_job_is_cancelled_by_who_hears_of_it(engine: AsyncEngine, *, told: bool) -> None:
    await prepare(engine, *NAMES)
    cluster = Made()
    context = context_of(engine, cluster)
    await submit_all(context)
    async with begin(engine) as connection:
        await jobs.cancel(connection, NAMES[1], moment(3600))
    if told:
        context.submitted.add(NAMES[1])
    await (submit_new if told else submit_all)(context)
    ends = [name for name, made in cluster.jobs.items() if made["spec"]["cancelled"]]
    assert ends == [NAMES[1]]


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
