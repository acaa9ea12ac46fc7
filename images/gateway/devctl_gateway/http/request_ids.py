"""A name for each request, in its answer and in the logs."""

from __future__ import annotations

import logging
import re
from uuid import uuid4

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from devctl_gateway.http.problems import unexpected

HEADER = "X-Request-ID"
_SENSIBLE = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_LOG = logging.getLogger(__name__)


def request_id(request: Request) -> str:
    """The name of a request."""
    return str(request.state.request_id)


class RequestIds:
    """Middleware: takes the name that the client gives a request, or makes one.

    It is the outermost, so it also answers what nobody has caught.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Stand before an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        name = given if _SENSIBLE.fullmatch(given) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = name
        begun = False

        async def named(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                MutableHeaders(scope=message)[HEADER] = name
            await send(message)

        try:
            await self._app(scope, receive, named)
        except Exception:
            _LOG.exception("request %s: %s %r", name, scope["method"], scope["path"])
            if begun:  # all that can still be done is to end the connection
                raise
            await unexpected().response(scope)(scope, receive, named)
