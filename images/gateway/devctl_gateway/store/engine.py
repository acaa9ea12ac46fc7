"""Connections to the database: PostgreSQL in a cluster, SQLite on a laptop."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache

from sqlalchemy import Connection, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection, DBAPICursor
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from devctl_gateway.store.postgresql import LOCK_MILLISECONDS, postgresql_engine
from devctl_gateway.store.turns import WAIT_SECONDS, a_turn

POOL = 11
"""Connections of a replica for requests, which stay open; several processes share them."""
POOL_ASIDE = 4
"""Connections for what happens without a request: however many come, it goes on.

PostgreSQL allows 100 in all, and there are six replicas.
"""
_WRITES = "gateway_writes"


def make_engine(url: str, size: int = POOL) -> AsyncEngine:
    """An engine for one of the two databases; nothing is connected yet.

    Args:
        url: `postgresql://…` or `sqlite+aiosqlite:///file`.
        size: Connections at most.

    Raises:
        ValueError: It is for another database or driver.
    """
    found = make_url(url)
    # No more for a moment: to open one takes longer than waiting for another.
    pool = {"pool_size": size, "max_overflow": 0, "pool_timeout": WAIT_SECONDS}
    if found.get_backend_name() == "postgresql":
        return postgresql_engine(found, **pool)
    if found.drivername == "sqlite+aiosqlite":
        engine = create_async_engine(found, **pool)
        event.listen(engine.sync_engine, "connect", _prepare_sqlite)
        event.listen(engine.sync_engine, "begin", _begin_sqlite)
        return engine
    raise ValueError(
        f"`{found.drivername}` is not a database of the gateway: GATEWAY_DATABASE begins with "
        "`postgresql://` or `sqlite+aiosqlite://`"
    )


@asynccontextmanager
async def begin(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """A transaction that may write; committed at the end of the block, rolled back by an error."""
    async with a_turn(engine), _writing(engine).begin() as connection:
        yield connection


@lru_cache(maxsize=4)  # to make it costs as much as a question to the server
def _writing(engine: AsyncEngine) -> AsyncEngine:
    postgresql = engine.dialect.name == "postgresql"
    options = {"isolation_level": "READ COMMITTED"} if postgresql else {_WRITES: True}
    return engine.execution_options(**options)


@asynccontextmanager
async def connect(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """A connection for queries, each of which sees what was committed before it."""
    async with a_turn(engine), engine.connect() as connection:
        yield connection


def _prepare_sqlite(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    # sqlite3 must not begin transactions by itself: `_begin_sqlite` does.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in (f"busy_timeout={LOCK_MILLISECONDS}", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    _use_log(cursor)
    cursor.close()


def _use_log(cursor: DBAPICursor) -> None:
    """Have readers and a writer not wait for each other; a file stays so once it is."""
    until = time.monotonic() + LOCK_MILLISECONDS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            # SQLite does not wait by itself here if others are about to do the same.
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads before it writes is refused if another has written meanwhile.
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
