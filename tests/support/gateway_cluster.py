"""A cluster in this process: an API server that has what a test puts there."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import httpx2
from devctl_gateway.cluster.client import Cluster

from devctl.api import gpu_worker_node
from devctl.api.gpu_worker_job import NAMESPACE, PLURAL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

Thing = dict[str, Any]
_LISTS = (PLURAL, gpu_worker_node.PLURAL, "nodes", "pods")


class ApiServer:
    """Lists and watches, and whatever else a test has it answer.

    Attributes:
        answers: How it answers paths that end in a text; None for 404.
        asked: The methods and paths of requests for neither lists nor watches, in order.
    """

    def __init__(self) -> None:
        """Have nothing."""
        self.answers: dict[str, Callable[[httpx2.Request], Awaitable[httpx2.Response]]] = {}
        self.asked: list[str] = []
        self._events: dict[str, asyncio.Queue[Thing]] = {each: asyncio.Queue() for each in _LISTS}

    def put(self, plural: str, thing: Thing) -> None:
        """Have an object, and tell who watches."""
        thing["metadata"]["resourceVersion"] = "2"
        self.say(plural, {"type": "MODIFIED", "object": thing})

    def say(self, plural: str, event: Thing) -> None:
        """Tell who watches whatever this is."""
        self._events[plural].put_nowait(event)

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request."""
        path = request.url.path
        ours = next((each for each in self.answers if path.endswith(each)), None)
        kind = path.rpartition("/")[2]
        if request.method != "GET" or kind not in _LISTS:
            self.asked.append(f"{request.method} {path}")
        if ours is not None:
            return await self.answers[ours](request)
        if request.method != "GET" or kind not in _LISTS:
            return httpx2.Response(404 if request.method == "GET" else 200, json={})
        if "watch" in request.url.params:
            return httpx2.Response(200, content=self._watch(kind))
        return httpx2.Response(200, json={"metadata": {"resourceVersion": "1"}, "items": []})

    async def _watch(self, kind: str) -> AsyncIterator[bytes]:
        while True:
            yield json.dumps(await self._events[kind].get()).encode() + b"\n"


@asynccontextmanager
async def cluster_of(server: ApiServer) -> AsyncIterator[Cluster]:
    """What a gateway knows of an API server, kept current."""
    base, transport = "https://api.test", httpx2.MockTransport(server)
    async with (
        httpx2.AsyncClient(base_url=base, transport=transport) as http,
        httpx2.AsyncClient(base_url=base, transport=transport) as streams,
    ):
        cluster = Cluster(http, streams, NAMESPACE)
        task = asyncio.create_task(cluster.run())
        await until(lambda: cluster.synced)
        try:
            yield cluster
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def until(so: Callable[[], bool]) -> None:
    """Let others go on until something is so, for a minute at most."""
    async with asyncio.timeout(60):
        while not so():  # noqa: ASYNC110 - whatever it is, nobody sets an event for it
            await asyncio.sleep(0)
