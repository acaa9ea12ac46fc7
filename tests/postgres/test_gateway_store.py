"""The gateway's store on both of its databases, as real ones."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from devctl_gateway.store import jobs, tables
from devctl_gateway.store.append_only import TABLES
from devctl_gateway.store.engine import begin, connect, make_engine
from devctl_gateway.store.migrating import BASE, current, migrate, revisions
from sqlalchemy import delete, func, insert, inspect, select, update
from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    IntegrityError,
    OperationalError,
    ProgrammingError,
)
from support.gateway_store import AT, ROWS, fill, made, sqlite_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncEngine
    from support.postgres_process import PostgresProcess

pytestmark = pytest.mark.anyio


@pytest.fixture
async def engine(url: str) -> AsyncIterator[AsyncEngine]:
    async with made(url) as one:
        yield one


async def rows(engine: AsyncEngine) -> dict[str, list[dict[str, Any]]]:
    """What every table has, in the columns that it has at this revision."""

    def columns(connection: Connection) -> dict[str, set[str]]:
        found = inspect(connection)
        return {each.name: {c["name"] for c in found.get_columns(each.name)} for each in ROWS}

    async with connect(engine) as connection:
        there = await connection.run_sync(columns)
        return {
            table.name: [
                dict(row)
                for row in (
                    await connection.execute(
                        select(*(c for c in table.c if c.name in there[table.name]))
                    )
                ).mappings()
            ]
            for table in ROWS
        }


async def test_the_schema_is_what_the_code_takes_it_for(engine: AsyncEngine) -> None:
    def differences(connection: Connection) -> Any:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return compare_metadata(context, tables.METADATA)

    async with begin(engine) as connection:
        assert await connection.run_sync(differences) == []


async def test_forwards_and_back_with_data_in_every_table(url: str) -> None:
    oldest, *later = revisions()
    engine = make_engine(url)
    assert await migrate(engine, oldest) == ("", oldest)
    await fill(engine)
    before = await rows(engine)
    assert all(before.values())

    async def has_kept_all() -> bool:
        """Nothing is lost, and what is new is empty."""
        found = await rows(engine)
        new = {
            name: dict.fromkeys(row[0].keys() - before[name][0].keys())
            for name, row in found.items()
        }
        return found == {name: [row | new[name] for row in before[name]] for name in before}

    for revision in later:
        await migrate(engine, revision)
        assert await has_kept_all()
    for revision in [*later[::-1][1:], oldest]:
        await migrate(engine, revision)
        assert await has_kept_all()
    assert await migrate(engine) == (oldest, revisions()[-1])
    assert await has_kept_all()
    assert (await migrate(engine, BASE))[1] == ""
    await migrate(engine)
    assert not any((await rows(engine)).values())
    await engine.dispose()


async def test_a_deleted_job_is_shown_again_by_a_release_that_knows_none(url: str) -> None:
    async with made(url) as engine:
        await fill(engine)
        async with begin(engine) as connection:
            await jobs.keep(connection, "job-1", {"phase": "Completed"})
            assert await jobs.delete(connection, "job-1", AT)
            assert not await jobs.delete(connection, "job-1", AT)
        assert await shown(engine) == []
        assert len((await rows(engine))["ledger"]) == 1
        await migrate(engine, "0002")
        assert len((await rows(engine))["ledger"]) == len((await rows(engine))["jobs"]) == 1
        await migrate(engine)
        assert await shown(engine) == ["job-1"]


async def shown(engine: AsyncEngine) -> list[str]:
    async with connect(engine) as connection:
        found = await jobs.page(connection, jobs.Wanted("acc-1"), after=None, limit=10)
    return [row["id"] for row in found]


async def test_replicas_that_start_at_once_migrate_once(url: str) -> None:
    engines = [make_engine(url) for _ in range(4)]
    done = await asyncio.gather(*(migrate(engine) for engine in engines))
    head = revisions()[-1]
    assert sorted(done) == [("", head), *[(head, head)] * 3]
    for engine in engines:
        await engine.dispose()


async def test_first_connections_at_once_wait_for_each_other(tmp_path: Path) -> None:
    for number in range(40):
        folder = tmp_path / str(number)
        folder.mkdir()
        engines = [make_engine(sqlite_url(folder)) for _ in range(6)]

        async def look(engine: AsyncEngine) -> None:
            async with begin(engine) as connection:
                await connection.execute(select(1))

        await asyncio.gather(*map(look, engines))
        for engine in engines:
            await engine.dispose()


@pytest.mark.parametrize("to", ["0000", "a"])
async def test_an_unknown_revision_changes_nothing(engine: AsyncEngine, to: str) -> None:
    with pytest.raises(ValueError, match=f"there is no revision `{to}`: there are 0001, "):
        await migrate(engine, to)
    async with begin(engine) as connection:
        assert await connection.run_sync(current) == revisions()[-1]


@pytest.mark.parametrize("table", TABLES)
async def test_the_ledger_can_only_be_added_to(engine: AsyncEngine, table: str) -> None:
    await fill(engine)
    found = tables.METADATA.tables[table]
    column = next(c for c in found.c if c.type.python_type is str)
    for change in (update(found).values({column: "other"}), delete(found)):
        with pytest.raises(DBAPIError, match=f"table {table} can only be added to"):
            async with begin(engine) as connection:
                await connection.execute(change)
    assert (await rows(engine))[table][0][column.name] != "other"


async def test_a_charge_is_made_once_however_many_make_it(engine: AsyncEngine) -> None:
    await fill(engine)
    charge = ROWS[tables.LEDGER] | {"reference": "uid-2"}

    async def make() -> bool:
        try:
            async with begin(engine) as connection:
                await connection.execute(insert(tables.LEDGER).values(charge))
        except IntegrityError:
            return False
        return True

    assert sorted(await asyncio.gather(*(make() for _ in range(8)))) == [False] * 7 + [True]


async def test_what_refers_to_nothing_is_refused(engine: AsyncEngine) -> None:
    with pytest.raises(IntegrityError):
        async with begin(engine) as connection:
            await connection.execute(insert(tables.JOBS).values(ROWS[tables.JOBS]))


async def test_an_error_undoes_the_whole_block(engine: AsyncEngine) -> None:
    async def fail() -> None:
        async with begin(engine) as connection:
            await connection.execute(insert(tables.ACCOUNTS).values(ROWS[tables.ACCOUNTS]))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert (await rows(engine))["accounts"] == []


async def test_writers_wait_for_each_other(engine: AsyncEngine) -> None:
    await fill(engine)

    async def use() -> None:
        async with begin(engine) as connection:
            tokens = tables.REGISTRATION_TOKENS
            left = await connection.scalar(select(tokens.c.uses_left).with_for_update()) or 0
            await asyncio.sleep(0.01)
            await connection.execute(update(tokens).values(uses_left=left + 1))

    await asyncio.gather(*(use() for _ in range(10)))
    assert (await rows(engine))["registration_tokens"][0]["uses_left"] == 11


async def test_a_server_that_is_restarted_is_met_again(postgres: PostgresProcess) -> None:
    async with made(postgres.database()) as engine:
        await fill(engine)
        # Meanwhile the event loop goes on, as a gateway's does: by it, connections notice the end.
        await asyncio.to_thread(postgres.stop, "immediate")
        await asyncio.to_thread(postgres.start)
        async with connect(engine) as connection:
            assert await connection.scalar(select(func.count()).select_from(tables.LEDGER)) == 1


async def test_times_come_back_as_they_went(engine: AsyncEngine) -> None:
    await fill(engine)
    assert (await rows(engine))["ledger"][0]["at"] == AT


@pytest.mark.parametrize("driver", ["", "+psycopg", "+asyncpg"])
async def test_a_url_for_any_driver_is_one_for_ours(postgres: PostgresProcess, driver: str) -> None:
    url = postgres.database().replace("postgresql", f"postgresql{driver}", 1)
    async with made(f"{url}&sslmode=prefer") as engine:
        await fill(engine)


async def run(engine: AsyncEngine, *statements: str) -> None:
    async with begin(engine) as connection:
        for statement in statements:
            await connection.exec_driver_sql(statement)


async def test_a_server_that_cannot_be_reached_is_an_error_of_operation() -> None:
    engine = make_engine("postgresql://nobody@/none?host=/nowhere")
    with pytest.raises(OperationalError):
        async with connect(engine):
            pass


async def test_errors_of_a_server_are_of_the_classes_that_the_dbapi_has(
    postgres: PostgresProcess,
) -> None:
    async with made(postgres.database()) as engine:
        for statements, kind in (
            (["SET LOCAL statement_timeout = 1", "SELECT pg_sleep(5)"], OperationalError),
            (["SELECT pg_terminate_backend(pg_backend_pid())"], OperationalError),
            (["SELECT 1 / 0"], DataError),
            (["SELECT nothing"], ProgrammingError),
        ):
            with pytest.raises(kind):
                await run(engine, *statements)
        with pytest.raises(DataError):
            async with connect(engine) as connection:
                await jobs.get(connection, "a\0b")


async def test_who_waits_too_long_for_a_lock_is_told_of_the_lock(postgres: PostgresProcess) -> None:
    async with made(postgres.database()) as engine:
        await fill(engine)
        async with begin(engine) as holds:
            await holds.execute(update(tables.ACCOUNTS).values(ROWS[tables.ACCOUNTS]))
            with pytest.raises(OperationalError) as found:
                await run(engine, "SET LOCAL lock_timeout = 50", "UPDATE accounts SET name = 'b'")
    assert getattr(found.value.orig, "sqlstate", "") == "55P03"


@pytest.mark.parametrize("other", ["mysql+aiomysql://h/d", "sqlite:///f", "postgres://h/d"])
def test_other_databases_are_refused_by_name(other: str) -> None:
    with pytest.raises(ValueError, match="is not a database of the gateway"):
        make_engine(other)
