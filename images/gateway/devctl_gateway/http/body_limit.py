"""How large the body of a request may be."""

from __future__ import annotations

from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from devctl_gateway.http.problems import Problem

LARGEST = 1024 * 1024
"""Bytes."""


class BodyLimit:
    """Middleware: refuses larger bodies, whether they say so beforehand or not."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        said = Headers(scope=scope).get("content-length", "0")
        if not (said.isascii() and said.isdecimal()) or int(said[:20]) > LARGEST:
            problem = Problem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "", f"the body has more than {LARGEST} bytes"
            )
            await problem.response(scope)(scope, receive, send)
            return
        received = 0

        async def bounded() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > LARGEST:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return message

        await self._app(scope, bounded, send)
