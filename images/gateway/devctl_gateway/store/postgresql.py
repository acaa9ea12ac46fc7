"""PostgreSQL by asyncpg, whose errors are named as the DBAPI names them.

SQLAlchemy knows the class of few of asyncpg's errors, and none of a server that cannot be reached.
"""

from __future__ import annotations

from typing import Any

import asyncpg
import msgspec
from sqlalchemy import URL, ExceptionContext, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DataError, DBAPIError, InvalidatePoolError, OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

STATEMENT_MILLISECONDS = 10_000
LOCK_MILLISECONDS = 5_000
_CONNECT_SECONDS = 5
_DATA = "22"
_OPERATIONAL = ("08", "0A", "40", "53", "55", "57", "58")
"""Classes of SQLSTATE: the connection, a statement that was prepared for another schema, conflicts,
resources, locks, somebody's intervention or a time that is over, the system.

https://www.postgresql.org/docs/current/errcodes-appendix.html
"""


def postgresql_engine(url: URL, **pool: Any) -> AsyncEngine:
    """An engine for PostgreSQL; nothing is connected yet.

    Args:
        url: As libpq has it, with `sslmode` and the like; its driver is not looked at.
        pool: SQLAlchemy's options of the pool.
    """
    limits = {"statement_timeout": STATEMENT_MILLISECONDS, "lock_timeout": LOCK_MILLISECONDS}
    engine = create_async_engine(
        # asyncpg reads the rest of the URL itself.
        url.set(drivername="postgresql+asyncpg", query={}),
        **pool,
        pool_recycle=1800,
        # Queries alone need no transaction: each would be two more questions to the server.
        isolation_level="AUTOCOMMIT",
        json_deserializer=msgspec.json.decode,  # a page of jobs has 150 documents
        connect_args={
            "dsn": url.set(drivername="postgresql").render_as_string(hide_password=False),
            "server_settings": {name: str(value) for name, value in limits.items()}
            | {"timezone": "UTC"},
            "timeout": _CONNECT_SECONDS,
            "async_creator_fn": _open,
        },
    )
    event.listen(engine.sync_engine, "checkout", _check_open)
    event.listen(engine.sync_engine, "handle_error", _named, retval=True)
    return engine


async def _open(*args: Any, **options: Any) -> asyncpg.Connection[asyncpg.Record]:
    """A connection.

    Raises:
        OperationalError: There is none to be had.
    """
    try:
        return await asyncpg.connect(*args, **options)
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise OperationalError("connect", None, error) from error


def _check_open(
    connection: DBAPIConnection, _entry: ConnectionPoolEntry, _proxy: PoolProxiedConnection
) -> None:
    """Refuse a connection that the server has ended, without a question to it.

    Raises:
        InvalidatePoolError: It has ended, and so have others: the pool makes new ones.
    """
    if connection.driver_connection.is_closed():
        raise InvalidatePoolError


def _named(context: ExceptionContext) -> DBAPIError | None:
    """An error in place of one that is of no class; None if its class is right."""
    error = context.sqlalchemy_exception
    if not isinstance(error, DBAPIError):
        return None
    kind = _kind_of(error)
    if kind is None or isinstance(error, kind):
        return None
    return kind(
        error.statement,
        error.params,
        error.orig,  # type: ignore[arg-type]  # there is always one
        connection_invalidated=error.connection_invalidated,
    )


def _kind_of(error: DBAPIError) -> type[DBAPIError] | None:
    """The DBAPI's class of an error of asyncpg's; None if SQLAlchemy's is right."""
    state = getattr(error.orig, "sqlstate", None) or ""
    if error.connection_invalidated or state.startswith(_OPERATIONAL):
        return OperationalError
    # What asyncpg cannot send has no SQLSTATE.
    unfit = isinstance(getattr(error.orig, "__cause__", None), ValueError)
    return DataError if unfit or state.startswith(_DATA) else None
