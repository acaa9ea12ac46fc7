"""Headers of all answers."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ALWAYS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
)


class SafeHeaders:
    """Middleware: nothing is stored on the way, guessed at, or shown in a frame."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def safe(message: Message) -> None:
            if message["type"] == "http.response.start":
                has = {name for name, _ in message["headers"]}
                message["headers"].extend(each for each in _ALWAYS if each[0] not in has)
            await send(message)

        await self._app(scope, receive, safe)
