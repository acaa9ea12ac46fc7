"""When the cluster saw jobs run: only added to, and what is charged follows from nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import RowMapping, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.store.rows import all_rows
from devctl_gateway.store.tables import JOBS, RUNS
from devctl_gateway.store.unique import add_once

_JOBS = select(JOBS.c.id, JOBS.c.account_id, JOBS.c.spec)


class Run(NamedTuple):
    """A run with its end."""

    pod_uid: str
    job_id: str
    node_name: str
    started_at: datetime
    finished_at: datetime

    @property
    def seconds(self) -> int:
        """How long it was, whole seconds."""
        return max(0, int((self.finished_at - self.started_at).total_seconds()))


async def add(connection: AsyncConnection, run: Run) -> bool:
    """Add a run; whether it was not there yet."""
    return await add_once(connection, RUNS, **run._asdict())


async def of_job(connection: AsyncConnection, job_id: str) -> list[Run]:
    """A job's runs, the first one first."""
    query = select(RUNS).where(RUNS.c.job_id == job_id).order_by(RUNS.c.started_at)
    return [Run(**row) for row in (await connection.execute(query)).mappings()]


async def unsettled(connection: AsyncConnection, account_id: str) -> Sequence[RowMapping]:
    """The jobs of an account of which not all is charged yet: their IDs, accounts and specs."""
    query = _JOBS.where(JOBS.c.settled_at.is_(None), JOBS.c.account_id == account_id)
    return await all_rows(connection, query)


async def unsettled_of(connection: AsyncConnection, ids: Sequence[str]) -> Sequence[RowMapping]:
    """The same of those of some jobs."""
    query = _JOBS.where(JOBS.c.settled_at.is_(None), JOBS.c.id.in_(ids))
    return await all_rows(connection, query)


async def unsettled_ids(connection: AsyncConnection) -> Sequence[str]:
    """The IDs of all jobs of which not all is charged yet."""
    query = select(JOBS.c.id).where(JOBS.c.settled_at.is_(None))
    return (await connection.execute(query)).scalars().all()


async def settle(connection: AsyncConnection, job_id: str, now: datetime) -> None:
    """Note that all of a job is charged."""
    unset = (JOBS.c.id == job_id, JOBS.c.settled_at.is_(None))
    await connection.execute(update(JOBS).where(*unset).values(settled_at=now))
