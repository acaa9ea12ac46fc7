"""Accounts, keys and tokens in PostgreSQL: the unit tests that show them in SQLite, once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.gateway_app import Gateway, running, store
from support.gateway_databases import *  # noqa: F403 - pytest looks for fixtures here
from unit.gateway.http.test_idempotency import *  # noqa: F403 - the tests
from unit.gateway.identity.test_keys import *  # noqa: F403
from unit.gateway.identity.test_registration import *  # noqa: F403
from unit.gateway.identity.test_users import *  # noqa: F403
from unit.gateway.routes.test_accounts import *  # noqa: F403
from unit.gateway.routes.test_keys import *  # noqa: F403

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine
    from support.postgres_process import PostgresProcess

pytestmark = pytest.mark.anyio


@pytest.fixture
async def empty(tmp_path: Path, postgres: PostgresProcess) -> AsyncIterator[AsyncEngine]:
    async with store(tmp_path, postgres.database()) as one:
        yield one


@pytest.fixture
async def gateway(tmp_path: Path, postgres: PostgresProcess) -> AsyncIterator[Gateway]:
    async with running(tmp_path, postgres.database()) as one:
        yield one
