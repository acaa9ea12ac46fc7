"""Rows of tables: read, and shown in pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, Select, and_, or_
from sqlalchemy.ext.asyncio import AsyncConnection

Row = Mapping[Any, Any]
"""A row by the names of its columns: SQLAlchemy's mapping, or a dictionary."""


async def all_rows(connection: AsyncConnection, query: Select[Any]) -> Sequence[RowMapping]:
    """What a query finds."""
    found: Sequence[RowMapping] = (await connection.execute(query)).mappings().all()
    return found


async def page_of(
    connection: AsyncConnection,
    query: Select[Any],
    by: tuple[ColumnElement[datetime], ColumnElement[str]],
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
    at, row_id = by
    query = query.order_by(at.desc(), row_id.desc())
    if after is not None:
        moment, last = after
        query = query.where(or_(at < moment, and_(at == moment, row_id < last)))
    return await all_rows(connection, query.limit(limit))
