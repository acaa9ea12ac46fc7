"""Submissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import RowMapping, Select, bindparam, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.store.rows import Row, all_rows, bounds, paged
from devctl_gateway.store.tables import JOBS, LEDGER

_TABLE = JOBS.c
# The second is never without the first, which has an index.
_UNFINISHED = (_TABLE.settled_at.is_(None), _TABLE.final.is_(None))
_CANCELLED = _TABLE.cancelled_at.is_not(None).label("cancelled")
_CHARGED = (
    select(-func.coalesce(func.sum(LEDGER.c.amount), 0))
    .where(LEDGER.c.job_id == _TABLE.id)
    .scalar_subquery()
)
_ADD = insert(JOBS)
_ONE = select(JOBS, _CHARGED.label("charged")).where(_TABLE.id == bindparam("job_id"))
_WANTED = {
    "account_id": _TABLE.account_id == bindparam("account_id"),
    "job_name": _TABLE.job_name == bindparam("job_name"),
    "created_from": _TABLE.created_at >= bindparam("created_from"),
    "created_before": _TABLE.created_at < bindparam("created_before"),
}
"""Conditions by the fields of Wanted."""


@dataclass(frozen=True)
class Wanted:
    """Which jobs are asked for; None for any."""

    account_id: str | None = None
    job_name: str | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None


async def add(  # noqa: PLR0913 - a row
    connection: AsyncConnection,
    *,
    job_id: str,
    account_id: str,
    job_name: str,
    spec: dict[str, Any],
    gpu_memory: int,
    now: datetime,
) -> Row:
    """Remember a submission: its row."""
    of = {"id": job_id, "account_id": account_id, "job_name": job_name, "spec": spec}
    row = {**of, "gpu_memory_required": gpu_memory, "created_at": now, "reported": {}}
    await connection.execute(_ADD, row)
    ends = dict.fromkeys(("final", "settled_at", "cancelled_at", "deleted_at"))
    return {**row, **ends, "charged": 0}


async def get(connection: AsyncConnection, job_id: str) -> RowMapping | None:
    """A job, with `charged`: what its account was charged for it, in micro-units."""
    return (await connection.execute(_ONE, {"job_id": job_id})).mappings().one_or_none()


async def page(
    connection: AsyncConnection,
    wanted: Wanted,
    *,
    after: tuple[datetime, str] | None,
    limit: int,
) -> Sequence[RowMapping]:
    """Jobs, the newest first, without those that were deleted and whose ends are kept.

    Args:
        connection: To the database.
        wanted: What is asked for.
        after: created_at and ID of the last one of the page before.
        limit: Rows at most.
    """
    values = {name: value for name, value in vars(wanted).items() if value is not None}
    query = _page(frozenset(values), further=after is not None)
    return await all_rows(connection, query, values | bounds(after, limit))


@cache
def _page(names: frozenset[str], *, further: bool) -> Select[Any]:
    query = select(JOBS).where(
        or_(_TABLE.deleted_at.is_(None), _TABLE.final.is_(None)),
        *(_WANTED[name] for name in sorted(names)),
    )
    return paged(query, (_TABLE.created_at, _TABLE.id), further=further)


async def cancel(connection: AsyncConnection, job_id: str, now: datetime) -> None:
    """Note that a job is to end, unless that is noted already."""
    change = update(JOBS).where(_TABLE.id == job_id, _TABLE.cancelled_at.is_(None))
    await connection.execute(change.values(cancelled_at=now))


async def delete(connection: AsyncConnection, job_id: str, now: datetime) -> bool:
    """Note that a job is to be shown no more once it has ended; whether that is new."""
    change = update(JOBS).where(_TABLE.id == job_id, _TABLE.deleted_at.is_(None))
    return (await connection.execute(change.values(deleted_at=now))).rowcount == 1


async def report(connection: AsyncConnection, job_id: str, reported: dict[str, Any]) -> None:
    """Note what its node's agent says of a job."""
    change = update(JOBS).where(_TABLE.id == job_id)
    await connection.execute(change.values(reported=reported))


async def unfinished(connection: AsyncConnection) -> Sequence[RowMapping]:
    """The jobs whose objects are still needed, the oldest first: `id`, `created_at`, `cancelled`.

    Specs are left out: this is asked again and again, of few jobs of which anything is to be done.
    """
    query = (
        select(_TABLE.id, _TABLE.created_at, _CANCELLED)
        .where(*_UNFINISHED)
        .order_by(_TABLE.created_at)
    )
    return await all_rows(connection, query)


async def wanted(connection: AsyncConnection, ids: Sequence[str]) -> Sequence[RowMapping]:
    """Those of some jobs whose objects are still needed: `id`, `spec`, and whether `cancelled`."""
    query = select(_TABLE.id, _TABLE.spec, _CANCELLED).where(_TABLE.id.in_(ids), *_UNFINISHED)
    return await all_rows(connection, query)


async def created(connection: AsyncConnection) -> Mapping[str, datetime]:
    """When the jobs were submitted whose ends are not kept yet, by their IDs."""
    query = select(_TABLE.id, _TABLE.created_at).where(*_UNFINISHED)
    return {row.id: row.created_at for row in await connection.execute(query)}


async def deleted(connection: AsyncConnection, since: datetime) -> Sequence[str]:
    """The jobs that were deleted, and whose ends are kept since then."""
    query = select(_TABLE.id).where(
        _TABLE.settled_at >= since, _TABLE.deleted_at.is_not(None), _TABLE.final.is_not(None)
    )
    return (await connection.execute(query)).scalars().all()


async def kept(connection: AsyncConnection, ids: Sequence[str]) -> Sequence[str]:
    """Those of some jobs whose ends are kept: nothing needs their objects any more."""
    query = select(_TABLE.id).where(_TABLE.id.in_(ids), _TABLE.final.is_not(None))
    return (await connection.execute(query)).scalars().all()


async def keep(connection: AsyncConnection, job_id: str, final: dict[str, Any]) -> None:
    """Keep how a job ended."""
    await connection.execute(update(JOBS).where(_TABLE.id == job_id).values(final=final))


async def ends(connection: AsyncConnection, ids: Sequence[str]) -> dict[str, RowMapping]:
    """How some jobs ended, and when that was charged; those that there are, by their IDs."""
    query = select(_TABLE.id, _TABLE.final, _TABLE.settled_at, _TABLE.created_at)
    return {row["id"]: row for row in await all_rows(connection, query.where(_TABLE.id.in_(ids)))}
