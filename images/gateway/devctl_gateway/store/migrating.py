"""Brings the schema of a database to a revision."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine

from devctl_gateway.store.engine import begin

log = logging.getLogger(__name__)

HEAD, BASE = "head", "base"
_LOCK = 0x67707577
"""The advisory lock under which one of several replicas migrates: `gpuw` in ASCII."""


def configuration() -> Config:
    """Alembic's, without a file: the connection is given with each call."""
    found = Config()
    found.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    found.set_main_option("path_separator", "os")
    return found


def revisions() -> list[str]:
    """All revisions, oldest first."""
    script = ScriptDirectory.from_config(configuration())
    return [revision.revision for revision in script.walk_revisions()][::-1]


def current(connection: Connection) -> str:
    """The revision of a database; empty if it has none."""
    return MigrationContext.configure(connection).get_current_revision() or ""


async def migrate(engine: AsyncEngine, to: str = HEAD) -> tuple[str, str]:
    """Bring the schema to a revision, forwards or back, all or nothing.

    Args:
        engine: The database.
        to: The revision; `head` for the newest, `base` for none.

    Returns:
        The revision before and after it.
    """

    def change(connection: Connection) -> tuple[str, str]:
        config = configuration()
        config.attributes["connection"] = connection
        before, known = current(connection), revisions()
        target = {HEAD: known[-1], BASE: ""}.get(to, to)
        order = ["", *known]
        if target not in order:
            raise ValueError(f"there is no revision `{to}`: there are {', '.join(known)}")
        if before and before not in order:
            raise ValueError(
                f"the database is at revision `{before}`, which this release does not know: "
                "start the release that made it"
            )
        back = order.index(target) < order.index(before)
        (command.downgrade if back else command.upgrade)(config, target or BASE)
        return before, current(connection)

    async with begin(engine) as connection:
        if engine.dialect.name == "postgresql":
            await connection.exec_driver_sql("SET LOCAL lock_timeout = '10min'")
            await connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
            await connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        return await connection.run_sync(change)


async def wait_for(engine: AsyncEngine, seconds: float = 60) -> None:
    """Wait until the database answers.

    Raises:
        OperationalError: It has not, in that time.
    """
    until = asyncio.get_running_loop().time() + seconds
    while True:
        try:
            async with engine.connect() as connection:
                await connection.exec_driver_sql("SELECT 1")
                return
        except OperationalError as error:
            if asyncio.get_running_loop().time() > until:
                raise
            log.info("the database does not answer yet: %s", error.orig)
            await asyncio.sleep(1)
