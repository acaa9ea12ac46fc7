"""Who has a connection next."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from devctl_gateway.store import turns
from devctl_gateway.store.engine import connect, make_engine
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

pytestmark = pytest.mark.anyio


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    """One that has a single connection."""
    made = make_engine(f"sqlite+aiosqlite:///{tmp_path / 'db'}", 1)
    yield made
    await made.dispose()


async def test_who_waits_is_before_who_comes(engine: AsyncEngine) -> None:
    order = list[str]()

    async def use(name: str, times: int) -> None:
        for _ in range(times):
            async with connect(engine):
                order.append(name)
                await asyncio.sleep(0)

    greedy = asyncio.create_task(use("greedy", 20))
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(use(name, 1)) for name in ("first", "second")]
    await asyncio.gather(greedy, *waiting)
    assert order[:4] == ["greedy", "first", "second", "greedy"]


async def test_a_wait_ends(engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "WAIT_SECONDS", 0.01)
    async with connect(engine):
        with pytest.raises(PoolTimeoutError):
            async with connect(engine):
                pass
    async with connect(engine):  # and nothing is lost by it
        pass


async def test_who_gives_up_keeps_nobody_waiting(engine: AsyncEngine) -> None:
    async def use() -> str:
        async with connect(engine):
            return "used"

    async with connect(engine):
        gone, stays = asyncio.create_task(use()), asyncio.create_task(use())
        await asyncio.sleep(0)
        gone.cancel()
    assert await stays == "used"
