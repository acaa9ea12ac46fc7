"""What jobs have written: answers that may last as long as their jobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import StreamingResponse

from devctl_gateway.http.context import Inside
from devctl_gateway.http.open_answers import OpenAnswers
from devctl_gateway.identity.dependencies import Caller
from devctl_gateway.routes.access import job_of
from devctl_gateway.schemas.text import Id
from devctl_gateway.settings import PREFIX
from devctl_gateway.store.engine import connect

router = APIRouter(prefix=f"{PREFIX}/jobs", tags=["jobs"])
_UNTIL_LOGS = 2.0
"""Seconds that an answer waits for a program's first words; a silent one is answered without."""


async def _open(request: Request, caller: Caller) -> AsyncIterator[AsyncExitStack]:
    """What is done once the answer has ended, however it ends."""
    counted = cast("OpenAnswers", request.app.state.open_answers)
    with counted.another(caller.id):
        async with AsyncExitStack() as ends:
            yield ends


@router.get(
    "/{job_id}/logs",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def get_job_logs(  # noqa: PLR0913, PLR0917 - its parameters
    job_id: Annotated[Id, Path(description="The job's ID.")],
    caller: Caller,
    inside: Inside,
    ends: Annotated[AsyncExitStack, Depends(_open)],
    follow: Annotated[bool, Query(description="Until the job ends.")] = False,  # noqa: FBT002
    tail: Annotated[int | None, Query(ge=0, le=100_000, description="Only the last lines.")] = None,
) -> StreamingResponse:
    """What a job has written, as long as its pod is there.

    An account reads a few logs at a time: one more is refused until one of them has ended.
    """
    async with connect(inside.engine) as connection:
        await job_of(inside, connection, caller, job_id)
    parts = inside.cluster.logs(job_id, follow=follow, tail=tail)
    begun = asyncio.ensure_future(anext(parts, b""))
    ends.push_async_callback(_end, parts, begun)
    await asyncio.wait([begun], timeout=_UNTIL_LOGS)
    if begun.done():
        begun.result()  # An error becomes an answer of its own, as nothing was sent yet.

    async def everything() -> AsyncIterator[bytes]:
        yield await begun
        async for part in parts:
            yield part

    return StreamingResponse(everything(), media_type="text/plain; charset=utf-8")


async def _end(parts: AsyncGenerator[bytes], begun: asyncio.Future[bytes]) -> None:
    """Ask the API server for no more: whoever asked may have gone before the answer began."""
    begun.cancel()
    await asyncio.wait([begun])
    await parts.aclose()
