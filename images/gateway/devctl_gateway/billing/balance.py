"""What an account has left, what it has open, and whether it may start another job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.billing.charges import Charge, Held
from devctl_gateway.billing.pricing import charges_of
from devctl_gateway.billing.runs import finished_runs, open_runs
from devctl_gateway.cluster.objects import Thing
from devctl_gateway.store import ledger, runs


@dataclass(frozen=True)
class Balance:
    """Of an account, in micro-units."""

    settled: int
    """Credit less charges."""
    open: int
    """What its jobs cost that is not charged yet."""

    @property
    def left(self) -> int:
        """What would be left if all its jobs ended now."""
        return self.settled - self.open


async def balance_of(
    connection: AsyncConnection, account_id: str, jobs: Mapping[str, Thing], now: datetime
) -> Balance:
    """What an account has left now.

    Args:
        connection: To the database.
        account_id: Whose.
        jobs: GPUWorkerJobs by name.
        now: The time.
    """
    settled = await ledger.balance(connection, account_id)
    costs = [
        await open_cost(connection, jobs.get(row["id"]), Held.of(row["spec"]), now)
        for row in await runs.unsettled(connection, account_id)
    ]
    return Balance(settled, sum(costs))


async def open_cost(
    connection: AsyncConnection, job: Thing | None, held: Held, now: datetime
) -> int:
    """What a GPUWorkerJob costs until now that is not charged yet, in micro-units."""
    return sum(charge.amount for charge in await open_charges(connection, job, held, now))


async def open_charges(
    connection: AsyncConnection, job: Thing | None, held: Held, now: datetime
) -> list[Charge]:
    """The lines of what a GPUWorkerJob has run until now that is not charged yet."""
    found = [*finished_runs(job), *open_runs(job, now)] if job else []
    if not job or not found:
        return []
    charged = {run.pod_uid for run in await runs.of_job(connection, job["metadata"]["name"])}
    lines = [await charges_of(connection, r, held) for r in found if r.pod_uid not in charged]
    return [charge for each in lines for charge in each]
