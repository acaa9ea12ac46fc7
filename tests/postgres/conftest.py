"""A PostgreSQL for each process that runs tests, and databases of each test's own."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from support.gateway_store import made, sqlite_url
from support.postgres_process import PostgresProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop that the gateway has."""
    return "asyncio"


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresProcess]:
    """A server for all tests of a process."""
    server = PostgresProcess(durable=False)
    server.start()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def migrated(postgres: PostgresProcess) -> str:
    """The name of a database at the newest revision, of which others are copies."""

    async def migrate() -> None:
        async with made(postgres.url(name)):
            pass

    name = postgres.create()
    asyncio.run(migrate())
    return name


@pytest.fixture
def database(postgres: PostgresProcess, migrated: str) -> Iterator[str]:
    """The URL of a database whose tables are empty."""
    with copied(postgres, migrated) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database of each sort, without tables."""
    if request.param == "sqlite":
        yield sqlite_url(tmp_path)
    else:
        with copied(request.getfixturevalue("postgres")) as found:
            yield found


@contextmanager
def copied(server: PostgresProcess, template: str = "template1") -> Iterator[str]:
    """The URL of a copy of a database: what goes soon is never written to the disk."""
    name = server.create(template)
    yield server.url(name)
    server.sql(f"DROP DATABASE {name} WITH (FORCE)")
