"""Compares what was charged with what the cluster's objects still say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.billing.runs import finished_runs
from devctl_gateway.cluster.objects import Thing
from devctl_gateway.store.runs import Run
from devctl_gateway.store.tables import JOBS, RUNS

SETTLED_WITHIN = timedelta(minutes=5)
"""After its end a run is charged by then: every replica looks every few seconds."""


async def unlike_objects(
    connection: AsyncConnection, jobs: Mapping[str, Thing], now: datetime
) -> list[str]:
    """Where runs on record differ from those of GPUWorkerJobs that are still there.

    Args:
        connection: To the database.
        jobs: GPUWorkerJobs by name; those that nobody submitted here are left out.
        now: The time.
    """
    submitted = set(await connection.scalars(select(JOBS.c.id)))
    rows = (await connection.execute(select(RUNS))).mappings()
    recorded = {row["pod_uid"]: Run(**{name: row[name] for name in Run._fields}) for row in rows}
    seen = [run for name in sorted(jobs.keys() & submitted) for run in finished_runs(jobs[name])]
    return list(_unlike(recorded, seen, now))


def _unlike(recorded: Mapping[str, Run], seen: Iterable[Run], now: datetime) -> Iterator[str]:
    for run in seen:
        found = recorded.get(run.pod_uid)
        if found is None and now - run.finished_at > SETTLED_WITHIN:
            yield f"pod {run.pod_uid}: the cluster saw it end, and it is not on record: {run}"
        elif found is not None and found != run:
            yield f"pod {run.pod_uid}: on record is {found}, and the cluster says {run}"
