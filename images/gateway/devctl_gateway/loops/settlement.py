"""Charges what has run: every step can be repeated, at any time and by several replicas.

A run is a row that is added once, by its pod's UID; its charges are added in the same transaction.
What agents report plays no part.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncEngine

from devctl_gateway.billing.charges import Held
from devctl_gateway.billing.pricing import charges_of
from devctl_gateway.billing.runs import finished_runs, is_settled
from devctl_gateway.cluster.objects import Thing, final_of
from devctl_gateway.context import Context
from devctl_gateway.store import jobs as jobs_store
from devctl_gateway.store import ledger, runs
from devctl_gateway.store.engine import begin, connect

_BATCH = 500
"""Jobs that are read at once."""


async def settle_all(context: Context) -> None:
    """Charge all runs that have ended since; nothing while the cluster is out of sight."""
    if context.cluster.synced:
        await settle(context.engine, context.cluster.jobs, context.clock())


async def settle(engine: AsyncEngine, jobs: Mapping[str, Thing], now: datetime) -> int:
    """Charge all runs that have ended since.

    Args:
        engine: The database.
        jobs: GPUWorkerJobs by name.
        now: The time.

    Returns:
        The number of runs that were not charged before.
    """
    async with connect(engine) as connection:
        ids = await runs.unsettled_ids(connection)
    # Of those that have ended alone, which are few, is the rest read.
    ended, charged = [name for name in ids if name in jobs and _has_ended(jobs[name])], 0
    for first in range(0, len(ended), _BATCH):
        async with connect(engine) as connection:
            rows = await runs.unsettled_of(connection, ended[first : first + _BATCH])
        for row in rows:
            if (job := jobs.get(row["id"])) is not None:
                charged += await _settle_job(engine, row, job, now)
    return charged


def _has_ended(job: Thing) -> bool:
    """Whether there may be something to charge: a run that has ended, or all of them."""
    return bool(finished_runs(job)) or is_settled(job)


async def _settle_job(engine: AsyncEngine, row: RowMapping, job: Thing, now: datetime) -> int:
    # In one order everywhere, or two replicas could wait for each other.
    found, held = sorted(finished_runs(job)), Held.of(row["spec"])
    async with begin(engine) as connection:
        new = [run for run in found if await runs.add(connection, run)]
        for run in new:
            for charge in await charges_of(connection, run, held):
                await ledger.charge(
                    connection,
                    account_id=row["account_id"],
                    job_id=row["id"],
                    pod_uid=run.pod_uid,
                    at=run.finished_at,
                    **charge._asdict(),
                )
        if is_settled(job):
            await runs.settle(connection, row["id"], now)
            # With that, the object is needed no more: were it lost, the job would run again.
            await jobs_store.keep(connection, row["id"], final_of(job))
    return len(new)
