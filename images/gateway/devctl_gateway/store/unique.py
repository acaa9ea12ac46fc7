"""Rows of which there may be one: whoever comes second changes nothing."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection


async def add_once(connection: AsyncConnection, table: Table, **values: Any) -> bool:
    """Add a row, unless one with the same key is there: whether it was added.

    It waits for another transaction that adds the same key, until that has ended.
    """
    statement = (
        postgresql.insert(table).values(**values).on_conflict_do_nothing()
        if connection.dialect.name == "postgresql"
        else sqlite.insert(table).values(**values).on_conflict_do_nothing()
    )
    added = await connection.execute(statement, execution_options={"preserve_rowcount": True})
    return added.rowcount == 1
