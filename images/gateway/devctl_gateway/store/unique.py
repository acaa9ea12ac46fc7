"""Rows of which there may be one: whoever comes second changes nothing."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import Insert, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection


async def add_once(connection: AsyncConnection, table: Table, **values: Any) -> bool:
    """Add a row, unless one with the same key is there: whether it was added.

    It waits for another transaction that adds the same key, until that has ended.
    """
    statement = _statement(table, connection.dialect.name)
    kept = {"preserve_rowcount": True}
    return (await connection.execute(statement, values, execution_options=kept)).rowcount == 1


@cache
def _statement(table: Table, dialect: str) -> Insert:
    if dialect == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()
