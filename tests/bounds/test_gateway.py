"""A request of the GPU workers API beside one of a bare FastAPI, in one process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx2
from bounds.ratios import ratio
from fastapi import FastAPI
from support.gateway_app import running

if TYPE_CHECKING:
    from pathlib import Path

REQUESTS = 200


async def several(client: httpx2.AsyncClient, path: str) -> None:
    for _ in range(REQUESTS):
        (await client.get(path)).raise_for_status()


def test_reading_costs_little_more_than_the_framework(tmp_path: Path) -> None:
    """Who asks is proved, the store is read, and the answer is made."""
    bare = FastAPI()

    @bare.get("/")
    async def answer() -> dict[str, list[str]]:
        return {"data": []}

    with asyncio.Runner() as runner:
        context = running(tmp_path)
        gateway = runner.run(context.__aenter__())
        own = gateway.user()
        transport = httpx2.ASGITransport(app=bare)
        other = httpx2.AsyncClient(transport=transport, base_url="http://bare.test")
        runner.run(several(own, "/gpu-workers/jobs/"))
        found = ratio(
            lambda: runner.run(several(own, "/gpu-workers/jobs/")),
            lambda: runner.run(several(other, "/")),
        )
        runner.run(context.__aexit__(None, None, None))
    assert found < 12
