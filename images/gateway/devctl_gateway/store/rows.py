"""Rows of tables: read, and shown in pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Integer, RowMapping, Select, and_, bindparam, or_
from sqlalchemy.ext.asyncio import AsyncConnection

Row = Mapping[Any, Any]
"""A row by the names of its columns: SQLAlchemy's mapping, or a dictionary."""
Age = tuple[ColumnElement[datetime], ColumnElement[str]]
"""The columns that pages are sorted by: when a row was added, and its ID."""


async def all_rows(
    connection: AsyncConnection, query: Select[Any], values: Mapping[str, Any] | None = None
) -> Sequence[RowMapping]:
    """What a query finds, with these values in place of its parameters."""
    found: Sequence[RowMapping] = (await connection.execute(query, values)).mappings().all()
    return found


def paged(query: Select[Any], by: Age, *, further: bool) -> Select[Any]:
    """A query for a page of what another one finds, with values for `bounds` to give.

    To make one, and to find that it is known, takes longer than the database to answer: what is
    asked often is made once.

    Args:
        query: What is asked for.
        by: The columns that say how old a row is, and its ID.
        further: Whether it is a page after another.
    """
    at, row_id = by
    if further:
        moment = bindparam("after_at", type_=at.type)
        last = bindparam("after_id", type_=row_id.type)
        query = query.where(or_(at < moment, and_(at == moment, row_id < last)))
    return query.order_by(at.desc(), row_id.desc()).limit(bindparam("limit", type_=Integer))


def bounds(after: tuple[datetime, str] | None, limit: int) -> dict[str, Any]:
    """The values of a page: where it begins, and how many rows it has at most."""
    return {"limit": limit} | dict(zip(("after_at", "after_id"), after or (), strict=False))


async def page_of(
    connection: AsyncConnection,
    query: Select[Any],
    by: Age,
    *,
    after: tuple[datetime, str] | None,
    limit: int,
) -> Sequence[RowMapping]:
    """A page of what a query finds, the newest first.

    Args:
        connection: To the database.
        query: What is asked for.
        by: The columns that say how old a row is, and its ID.
        after: These of the last row of the page before; None for the first page.
        limit: Rows at most.
    """
    query = paged(query, by, further=after is not None)
    return await all_rows(connection, query, bounds(after, limit))
