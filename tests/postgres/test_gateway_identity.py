"""Accounts, keys and tokens in PostgreSQL: the unit tests that show them in SQLite, once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.gateway_app import Gateway, running, store
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

pytestmark = pytest.mark.anyio


@pytest.fixture
async def empty(tmp_path: Path, database: str) -> AsyncIterator[AsyncEngine]:
    async with store(tmp_path, database) as one:
        yield one


@pytest.fixture
async def gateway(tmp_path: Path, database: str) -> AsyncIterator[Gateway]:
    async with running(tmp_path, database) as one:
        yield one
