"""The backup of the gateway's PostgreSQL, by the script of its image."""

from __future__ import annotations

import asyncio
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from devctl_gateway.store.engine import begin, connect, make_engine
from sqlalchemy import select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from support.gateway_store import ROWS, fill, made
from support.postgres_process import programs

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

pytestmark = pytest.mark.anyio
SCRIPT = REPOSITORY / "images/postgres/backup.sh"


class Backups:
    """The script, for one database."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder

    async def run(self, restore: str = "", **more: str) -> str:
        """What it prints; raises CalledProcessError if it fails."""
        place = make_url(self.url)
        environment = {
            "PATH": f"{programs()}:{os.environ['PATH']}",
            "PGHOST": str(place.query["host"]),
            "PGUSER": "gateway",
            "PGDATABASE": str(place.database),
            "BACKUPS": str(self.folder),
            "RESTORE": restore,
            **more,
        }
        return await asyncio.to_thread(self._run, environment)

    def _run(self, environment: dict[str, str]) -> str:
        return subprocess.run(
            ["sh", SCRIPT], env=environment, check=True, capture_output=True, text=True
        ).stdout

    @property
    def names(self) -> list[str]:
        """What is in its folder."""
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
async def engine(database: str) -> AsyncIterator[AsyncEngine]:
    async with made(database) as one:
        await fill(one)
        yield one


@pytest.fixture
def backups(database: str, tmp_path: Path) -> Backups:
    return Backups(database, tmp_path)


async def rows(url: str) -> dict[str, list[dict[str, Any]]]:
    # Connections from before know the tables that were there.
    engine = make_engine(url)
    async with connect(engine) as connection:
        found = {
            table.name: [dict(row) for row in (await connection.execute(select(table))).mappings()]
            for table in ROWS
        }
    await engine.dispose()
    return found


async def change(engine: AsyncEngine, *statements: str) -> None:
    async with begin(engine) as connection:
        for each in statements:
            await connection.execute(text(each))


async def test_everything_comes_back_and_nothing_newer_stays(
    engine: AsyncEngine, backups: Backups
) -> None:
    before = await rows(backups.url)
    assert all(before.values())
    assert (await backups.run()).startswith("made gateway-")
    await change(
        engine,
        "CREATE TABLE of_a_newer_release (id int)",
        "UPDATE accounts SET name = 'another'",
        "DELETE FROM keys",
    )
    (name,) = backups.names
    assert await backups.run(name) == f"restored {name}\n"
    assert await rows(backups.url) == before
    assert backups.names == [name]
    again = make_engine(backups.url)
    with pytest.raises(DBAPIError, match="of_a_newer_release"):
        await change(again, "SELECT * FROM of_a_newer_release")
    # What guards the ledger is a part of it.
    with pytest.raises(DBAPIError):
        await change(again, "UPDATE ledger SET amount = 0")
    await again.dispose()


async def test_a_backup_that_is_cut_off_or_missing_changes_nothing(
    engine: AsyncEngine, backups: Backups
) -> None:
    await backups.run()
    (name,) = backups.names
    whole = (backups.folder / name).read_bytes()
    (backups.folder / name).write_bytes(whole[: len(whole) * 3 // 4])
    await change(engine, "UPDATE accounts SET name = 'another'")
    before = await rows(backups.url)
    for each in (name, "gateway-1.dump"):
        with pytest.raises(subprocess.CalledProcessError) as failure:
            await backups.run(each)
    assert "there is no backup gateway-1.dump" in failure.value.stderr
    assert name in failure.value.stderr
    assert await rows(backups.url) == before
    assert backups.names == [name]


async def test_so_many_are_kept(backups: Backups) -> None:
    old = [f"gateway-2026010{day}T000000Z.dump" for day in range(1, 5)]
    for name in (*old, "gateway-20260105T000000Z.dump.making", "notes"):
        (backups.folder / name).touch()
    await backups.run(KEEP="2")
    *kept, notes = backups.names
    assert kept[0] == old[-1]
    assert len(kept) == 2
    assert notes == "notes"
