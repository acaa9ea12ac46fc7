"""Serves the kubelet's probes (the event loop runs; the observer can work) and the metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from prometheus_client import generate_latest

from devctl_observer.control.figures import REGISTRY

PATIENCE = 5.0


async def serve(port: int, problems: Callable[[], Sequence[str]]) -> None:
    """Serve `/healthz`, `/readyz` and `/metrics` until cancelled."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                request = (await reader.readline()).split()
                writer.write(respond(request, problems()))
                await writer.drain()
        except (OSError, ValueError, TimeoutError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, port=port, limit=4096)
    async with server:
        await server.serve_forever()


def respond(request: Sequence[bytes], problems: Sequence[str]) -> bytes:
    """The response to a request line, split into words; with problems, it is not ready."""
    path = request[1] if len(request) > 1 and request[0] == b"GET" else b""
    status, body = b"200 OK", b"ok\n"
    if path == b"/metrics":
        body = generate_latest(REGISTRY)
    elif path == b"/readyz" and problems:
        status, body = b"503 Service Unavailable", "".join(f"{p}\n" for p in problems).encode()
    elif path not in {b"/healthz", b"/readyz"}:
        status, body = b"404 Not Found", b"not found\n"
    head = b"HTTP/1.1 %b\r\nContent-Type: text/plain; version=0.0.4\r\n" % status
    return head + b"Content-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(body), body)
