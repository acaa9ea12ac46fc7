"""The ledger: charges and credits, only added to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import RowMapping, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.store.rows import all_rows
from devctl_gateway.store.tables import LEDGER
from devctl_gateway.store.unique import add_once

CREDIT = "credit"
_TABLE = LEDGER.c


async def charge(  # noqa: PLR0913 - a row
    connection: AsyncConnection,
    *,
    account_id: str,
    job_id: str,
    pod_uid: str,
    at: datetime,
    kind: str,
    quantity: int,
    price: int,
    amount: int,
) -> bool:
    """Charge an account for what a pod held; whether that was not there yet.

    Args:
        connection: In a transaction.
        account_id: Who pays.
        job_id: For which job.
        pod_uid: For which of its pods.
        at: When the pod ended.
        kind: What was held: gpu, core or gigabyte.
        quantity: How much, in seconds.
        price: Of an hour, in micro-units.
        amount: In micro-units, 0 or more.
    """
    of = {"account_id": account_id, "job_id": job_id, "reference": pod_uid, "at": at, "kind": kind}
    how = {"quantity": quantity, "price": price, "amount": -amount, "note": ""}
    return await add_once(connection, LEDGER, **of, **how)


async def credit(  # noqa: PLR0913 - a row
    connection: AsyncConnection,
    *,
    account_id: str,
    reference: str,
    at: datetime,
    amount: int,
    note: str,
) -> bool:
    """Give an account credit; whether that was not there yet.

    Args:
        connection: In a transaction.
        account_id: Whose.
        reference: Identifies the payment.
        at: When.
        amount: In micro-units; less than 0 takes credit back.
        note: For people.
    """
    how = {"quantity": 1, "price": amount, "amount": amount, "note": note, "job_id": None}
    of = {"account_id": account_id, "reference": reference, "at": at, "kind": CREDIT}
    return await add_once(connection, LEDGER, **of, **how)


async def get(connection: AsyncConnection, kind: str, reference: str) -> RowMapping:
    """An entry that is there."""
    query = select(LEDGER).where(_TABLE.kind == kind, _TABLE.reference == reference)
    return (await connection.execute(query)).mappings().one()


async def balance(connection: AsyncConnection, account_id: str) -> int:
    """Credit less charges, in micro-units."""
    query = select(func.coalesce(func.sum(_TABLE.amount), 0)).where(_TABLE.account_id == account_id)
    return int(await connection.scalar(query) or 0)


async def of_job(connection: AsyncConnection, job_id: str) -> Sequence[RowMapping]:
    """A job's charges."""
    query = select(LEDGER).where(_TABLE.job_id == job_id).order_by(_TABLE.id)
    return await all_rows(connection, query)


async def between(
    connection: AsyncConnection, account_id: str, start: datetime, end: datetime
) -> Sequence[RowMapping]:
    """An account's entries of a time, the first ones first."""
    query = (
        select(LEDGER)
        .where(_TABLE.account_id == account_id, _TABLE.at >= start, _TABLE.at < end)
        .order_by(_TABLE.at, _TABLE.id)
    )
    return await all_rows(connection, query)


async def page(
    connection: AsyncConnection, account_id: str, *, before: int | None, limit: int
) -> Sequence[RowMapping]:
    """An account's entries, the latest first.

    Args:
        connection: To the database.
        account_id: Whose.
        before: The number of the last entry of the page before; None for the first page.
        limit: Rows at most.
    """
    query = select(LEDGER).where(_TABLE.account_id == account_id).order_by(_TABLE.id.desc())
    if before is not None:
        query = query.where(_TABLE.id < before)
    return await all_rows(connection, query.limit(limit))
