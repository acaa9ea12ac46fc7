"""A gateway and a store of each test's own, and an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.gateway_app import Gateway, running, store
from support.sockets import socket_disabled  # noqa: F401 - pytest looks for it here

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    async with running(tmp_path) as one:
        yield one


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    async with store(tmp_path) as one:
        yield one


@pytest.fixture
def engine(empty: AsyncEngine) -> AsyncEngine:
    return empty
