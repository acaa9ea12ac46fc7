"""Fixtures of tests that show the gateway's store on real databases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.gateway_store import sqlite_url
from support.postgres_process import PostgresProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["anyio_backend", "postgres", "url"]


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that the gateway has."""
    return "asyncio"


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresProcess]:
    """A server for all tests of a module."""
    server = PostgresProcess()
    server.start()
    yield server
    server.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database of each sort."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path)
    server: PostgresProcess = request.getfixturevalue("postgres")
    return server.database()
