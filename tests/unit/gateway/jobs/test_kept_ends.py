"""A job that has ended is never made again, whatever becomes of its object."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from devctl_gateway.cluster.objects import rejected, told
from devctl_gateway.loops.retention import OBJECTS, old_ones
from devctl_gateway.loops.settlement import settle
from devctl_gateway.loops.submitter import due
from devctl_gateway.store import jobs
from devctl_gateway.store.engine import begin, connect
from support.gateway_billing import job, moment, prepare, run, text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

pytestmark = pytest.mark.anyio
NOW = moment(7200)


def ended(name: str, phase: str = "Completed") -> dict[str, Any]:
    found = job(name, run("a", 0, 3600), phase=phase)
    found["status"] |= {"finishedAt": text(3600), "node": "one", "exitCode": 0}
    return found


async def wanted(engine: AsyncEngine, known: dict[str, Any]) -> list[str]:
    async with connect(engine) as connection:
        found = due(await jobs.unfinished(connection), known, NOW)
        return [row["id"] for row in await jobs.wanted(connection, found)]


@pytest.mark.parametrize("phase", ["Completed", "Failed", "Cancelled"])
async def test_a_settled_job_whose_object_is_lost_is_not_run_again(
    engine: AsyncEngine, phase: str
) -> None:
    await prepare(engine, "job-1")
    await settle(engine, {"job-1": ended("job-1", phase)}, NOW)
    assert await wanted(engine, {}) == []


async def test_a_settled_job_whose_object_is_lost_still_says_how_it_ended(
    engine: AsyncEngine,
) -> None:
    await prepare(engine, "job-1")
    await settle(engine, {"job-1": ended("job-1")}, NOW)
    async with connect(engine) as connection:
        row = await jobs.get(connection, "job-1")
    assert row is not None
    found = told(None, row["final"])
    assert (found["state"], found["node"], found["exitCode"]) == ("completed", "one", 0)


async def test_a_job_that_runs_is_made_again_if_its_object_is_lost(engine: AsyncEngine) -> None:
    await prepare(engine, "job-1")
    await settle(engine, {"job-1": job("job-1", run("a", 0))}, NOW)
    assert await wanted(engine, {}) == ["job-1"]


async def test_only_jobs_whose_ends_are_kept_let_go_of_their_objects(engine: AsyncEngine) -> None:
    await prepare(engine, "job-1", "job-2")
    await settle(engine, {"job-1": ended("job-1")}, NOW)
    async with connect(engine) as connection:
        assert await jobs.kept(connection, ["job-1", "job-2", "job-3"]) == ["job-1"]


async def test_a_job_is_made_until_it_is_there_and_cancelled_until_it_knows(
    engine: AsyncEngine,
) -> None:
    await prepare(engine, "job-1")
    there = {"job-1": {"spec": {"cancelled": False}}}
    assert await wanted(engine, {}) == ["job-1"]
    assert await wanted(engine, there) == []
    async with begin(engine) as connection:
        await jobs.cancel(connection, "job-1", NOW)
    assert await wanted(engine, there) == ["job-1"]
    assert await wanted(engine, {"job-1": {"spec": {"cancelled": True}}}) == []


def test_objects_are_let_go_of_a_while_after_their_end() -> None:
    untimed = job("job-3", phase="Cancelled")
    untimed["metadata"]["creationTimestamp"] = text(0)
    known = {"job-1": ended("job-1"), "job-2": job("job-2", run("a", 0)), "job-3": untimed}
    at = moment(3600) + OBJECTS
    assert old_ones(known, at - timedelta(seconds=1)) == ["job-3"]
    assert old_ones(known, at) == ["job-1", "job-3"]


@pytest.mark.parametrize(("cancelled", "state"), [(False, "failed"), (True, "cancelled")])
def test_a_job_that_the_cluster_rejects_has_ended(cancelled: bool, state: str) -> None:  # noqa: FBT001 - a case
    found = told(None, rejected("no such jobs", cancelled=cancelled))
    assert found["state"] == state
    assert found["message"]
