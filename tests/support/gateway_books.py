"""What a release of the gateway does with its database: migrate it, charge jobs, and audit charges.

usage: gateway_books.py DATABASE ACTION..., which prints the last audit as JSON

A test runs it with the modules of another release, which cannot be imported beside this one's. The
actions, in any order: `migrate=REVISION`; `fill`, which adds a row to each table but those of
charges; `charge=JOB`, which has a new job run, end and be charged; and `audit`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

from devctl_gateway.billing.reconciling import differences
from devctl_gateway.loops.settlement import settle
from devctl_gateway.store import ledger, tables
from devctl_gateway.store.engine import begin, connect, make_engine
from devctl_gateway.store.migrating import migrate
from sqlalchemy import insert, select
from support.gateway_billing import ACCOUNT, SPEC, job, moment, run
from support.gateway_store import ROWS

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

HOUR = 3600
EVENING = moment(9 * HOUR)


async def fill(engine: AsyncEngine) -> None:
    """Add a row to each table but those of charges."""
    async with begin(engine) as connection:
        for table, row in ROWS.items():
            if table not in {tables.RUNS, tables.LEDGER}:
                more = {"spec": SPEC} if table is tables.JOBS else {}
                await connection.execute(insert(table).values(row | more))


async def charge(engine: AsyncEngine, name: str) -> None:
    """Have a job that was submitted fail once and succeed, and charge it."""
    async with begin(engine) as connection:
        row = ROWS[tables.JOBS] | {"id": name, "account_id": ACCOUNT, "spec": SPEC}
        await connection.execute(insert(tables.JOBS).values(row))
    attempts = [run(f"{name}-{hours}", 0, hours * HOUR) for hours in (1, 2)]
    await settle(engine, {name: job(name, *attempts, phase="Completed")}, EVENING)


async def audit(engine: AsyncEngine) -> dict[str, Any]:
    """The balance, the charges of each job, and the charges that should be others."""
    async with connect(engine) as connection:
        names = (await connection.scalars(select(tables.JOBS.c.id))).all()
        charges = {
            name: sorted(
                [row["reference"], row["kind"], row["quantity"], row["price"], row["amount"]]
                for row in await ledger.of_job(connection, name)
            )
            for name in sorted(names)
        }
        return {
            "balance": await ledger.balance(connection, ACCOUNT),
            "charges": charges,
            "wrong": await differences(connection),
        }


async def act(url: str, *actions: str) -> dict[str, Any]:
    """Do one after the other; the last audit, or an empty one."""
    engine, found = make_engine(url), dict[str, Any]()
    try:
        for action, _, of in (each.partition("=") for each in actions):
            if action == "migrate":
                await migrate(engine, of)
            elif action == "fill":
                await fill(engine)
            elif action == "charge":
                await charge(engine, of)
            else:
                found = await audit(engine)
    finally:
        await engine.dispose()
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(act(*sys.argv[1:]))))
