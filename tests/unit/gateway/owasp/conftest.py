"""A gateway that a module's tests share, with everybody who may ask it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.gateway_crowd import Crowd, Rows, crowd
from support.sockets import disable_others

from unit.threads import all_end

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


@pytest.fixture(scope="module", autouse=True)
def no_threads_left() -> Iterator[None]:
    """Each connection to the store has a thread, and is there for a module's later tests, too."""
    with all_end():
        yield


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    disable_others()
    return "asyncio"


@pytest.fixture(scope="module")
def url() -> str:
    """The store's; empty for a file of its own."""
    return ""


@pytest.fixture(scope="module")
async def people(url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Crowd]:
    async with crowd(tmp_path_factory.mktemp("gateway"), url) as one:
        yield one


@pytest.fixture(scope="module")
async def rows(people: Crowd) -> Rows:
    """All that is stored before the first test: what is refused changes none of it."""
    return await people.rows()
