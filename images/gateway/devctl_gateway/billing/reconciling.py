"""Computes all charges again, and compares them with the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.billing.charges import KINDS, Charge, Held
from devctl_gateway.billing.pricing import charges_of
from devctl_gateway.store.runs import Run
from devctl_gateway.store.tables import JOBS, LEDGER, RUNS

_Key = tuple[str, str]
"""A pod's UID, and what is charged."""


class Line(NamedTuple):
    """What an account is charged for a job."""

    account_id: str
    job_id: str
    charge: Charge


async def differences(connection: AsyncConnection) -> list[str]:
    """What the ledger says that runs, jobs and prices do not, and the reverse; empty if nothing."""
    return list(compared(await _computed(connection), await _charged(connection)))


def compared(computed: Mapping[_Key, Line], charged: Mapping[_Key, Line]) -> Iterator[str]:
    """The differences, in words."""
    for key in sorted(computed.keys() | charged.keys()):
        pod, kind = key
        should, found = computed.get(key), charged.get(key)
        if should is None or found is None:
            line = should or found
            what = "was charged without a run" if found else "was not charged"
            yield f"pod {pod}, {kind}: {what}: {line}"
        elif should != found:
            yield f"pod {pod}, {kind}: charged is {found}, and it should be {should}"


async def _computed(connection: AsyncConnection) -> dict[_Key, Line]:
    query = select(RUNS, JOBS.c.spec, JOBS.c.account_id).join(JOBS, JOBS.c.id == RUNS.c.job_id)
    lines: dict[_Key, Line] = {}
    for row in (await connection.execute(query)).mappings().all():
        run = Run(**{name: row[name] for name in Run._fields})
        for charge in await charges_of(connection, run, Held.of(row["spec"])):
            lines[run.pod_uid, charge.kind] = Line(row["account_id"], run.job_id, charge)
    return lines


async def _charged(connection: AsyncConnection) -> dict[_Key, Line]:
    query = select(LEDGER).where(LEDGER.c.kind.in_(KINDS))
    return {
        (row["reference"], row["kind"]): Line(
            row["account_id"],
            row["job_id"],
            Charge(row["kind"], row["quantity"], row["price"], -row["amount"]),
        )
        for row in (await connection.execute(query)).mappings()
    }
