"""Who has a connection next: whoever has waited longest.

SQLAlchemy's pool wakes them in that order, but somebody who comes in that moment may be faster, and
then they wait behind all others once more. Under load, that was until their time was over.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast
from weakref import WeakKeyDictionary

from sqlalchemy import Pool, QueuePool
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine

WAIT_SECONDS = 5
_TURNS = WeakKeyDictionary[Pool, asyncio.Semaphore]()


@asynccontextmanager
async def a_turn(engine: AsyncEngine) -> AsyncIterator[None]:
    """A time in which one of the engine's connections is free.

    Raises:
        PoolTimeoutError: None was for WAIT_SECONDS.
    """
    turns = _turns_of(engine.pool)
    if turns.locked():
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await turns.acquire()
        except TimeoutError:
            raise PoolTimeoutError(f"no connection for {WAIT_SECONDS} s") from None
    else:
        await turns.acquire()
    try:
        yield
    finally:
        turns.release()


def _turns_of(pool: Pool) -> asyncio.Semaphore:
    turns = _TURNS.get(pool)
    if turns is None:
        turns = _TURNS[pool] = asyncio.Semaphore(cast("QueuePool", pool).size())
    return turns
