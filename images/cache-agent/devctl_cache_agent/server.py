"""The agent's HTTP API: its status and its health, for whoever has the token."""

from __future__ import annotations

import hmac
import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

PORT = 8082
MIN_TOKEN = 32
"""Characters; a shorter token could be guessed."""
_SECONDS = 10


class Page(NamedTuple):
    """An answer."""

    code: int
    content: Any


def answer(
    path: str, authorization: str, token: str, status: Callable[[], Any], problem: Callable[[], str]
) -> Page:
    """What a request gets. Without the token, not even which paths there are.

    Args:
        path: The path, with its query.
        authorization: The request's header.
        token: The right token; an empty or short one lets nobody in.
        status: All that the agent reports.
        problem: Why the agent does not work; empty if it does.
    """
    scheme, _, given = authorization.partition(" ")
    right = len(token) >= MIN_TOKEN and scheme.lower() == "bearer"
    # Compared in any case, so that its time says nothing.
    if (
        not hmac.compare_digest(given.strip().encode("utf-8", "replace"), token.encode())
        or not right
    ):
        return Page(401, {"error": "a bearer token is needed"})
    match path.partition("?")[0]:
        case "/healthz":
            found = problem()
            return Page(503, {"error": found}) if found else Page(200, {"status": "ok"})
        case "/status":
            return Page(200, status())
        case _:
            return Page(404, {"error": "there are /status and /healthz"})


class Server(ThreadingMixIn, HTTPServer):
    """Serves the pages.

    Args:
        address: Where.
        page: The answer to a path and its Authorization header.
    """

    daemon_threads = True
    request_queue_size = 16

    def __init__(self, address: tuple[str, int], page: Callable[[str, str], Page]) -> None:
        """Listen."""
        super().__init__(address, _Handler)
        self.page = page

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: whoever connects can leave at any moment, as often as they like."""


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    timeout = _SECONDS
    server_version, sys_version = "devctl-cache-agent", ""

    def do_GET(self) -> None:
        """Answer."""
        assert isinstance(self.server, Server)  # noqa: S101 - for mypy
        code, content = self.server.page(self.path, self.headers.get("Authorization", ""))
        data = json.dumps(content).encode()
        self.send_response(code)
        if code == 401:  # noqa: PLR2004
            self.send_header("WWW-Authenticate", "Bearer")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing: others choose what is in a request."""
