"""Answers the kubelet: whether the event loop turns, and how much there is to do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 5.0


async def serve(port: int, metrics: Callable[[], str]) -> None:
    """Answer `/healthz`, `/readyz` and `/metrics` until cancelled."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                request = (await reader.readline()).split()
                writer.write(respond(request, metrics))
                await writer.drain()
        except (OSError, ValueError, TimeoutError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, port=port, limit=4096)
    async with server:
        await server.serve_forever()


def respond(request: list[bytes], metrics: Callable[[], str]) -> bytes:
    """The response to the words of a request's first line."""
    path = request[1] if len(request) > 1 and request[0] == b"GET" else b""
    known = {b"/healthz": lambda: "ok\n", b"/readyz": lambda: "ok\n", b"/metrics": metrics}
    body = known[path]().encode() if path in known else b"not found\n"
    status = b"200 OK" if path in known else b"404 Not Found"
    head = b"HTTP/1.1 %b\r\nContent-Type: text/plain; version=0.0.4\r\n" % status
    return head + b"Content-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(body), body)
