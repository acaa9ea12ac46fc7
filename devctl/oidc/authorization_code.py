"""Login in a browser: authorization code with PKCE, received on a loopback port (RFC 8252)."""

from __future__ import annotations

import hmac
import secrets
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from devctl.errors import HostError, WaitTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from devctl.oidc.provider import Provider

_HOST = "127.0.0.1"
_STALL = 2.0
"""Seconds that a connection may take to send its request: browsers open some for later."""
_PAGE = (
    '<!doctype html><meta charset="utf-8"><title>devctl</title>'
    '<p style="font: 1.2em sans-serif; margin: 3em">{}</p>'
)
_DONE = "You can close this page and return to the terminal."
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
}


class Received(NamedTuple):
    """What the provider gave, and the nonce that its ID token must have."""

    tokens: Mapping[str, Any]
    nonce: str


def log_in(provider: Provider, visit: Callable[[str], object], *, seconds: float) -> Received:
    """Have a person log in with a browser.

    Args:
        provider: Where.
        visit: Called with the address that the browser is to open.
        seconds: How long to wait.

    Raises:
        ProviderError: The provider refused, or the person did.
        WaitTimeoutError: Nobody logged in.
        HostError: The port is in use.
        DevctlError: The provider cannot be reached, or its answer is not valid.
    """
    from oauthlib.oauth2 import WebApplicationClient  # noqa: PLC0415 - optional

    if not (authorization := provider.endpoint("authorization_endpoint")):
        raise provider.nonsense("its discovery document lacks `authorization_endpoint`")
    client = WebApplicationClient(provider.registration.client_id)
    state, nonce = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    verifier = client.create_code_verifier(64)
    scopes, more = provider.scopes()
    with _Callback(provider, state) as callback:
        visit(
            client.prepare_request_uri(
                authorization,
                redirect_uri=callback.uri,
                scope=scopes,
                state=state,
                nonce=nonce,
                code_challenge=client.create_code_challenge(verifier, "S256"),
                code_challenge_method="S256",
                **more,
            )
        )
        query = callback.wait(seconds)
    with provider.understood():
        # oauthlib refuses http://, which RFC 8252 wants for this machine; only the query counts.
        found = client.parse_request_uri_response(f"https://{_HOST}/?{query}", state=state)
    body = client.prepare_request_body(
        code=found["code"], redirect_uri=callback.uri, code_verifier=verifier
    )
    return Received(provider.tokens(client, body), nonce)


class _Callback(HTTPServer):
    """Waits for the browser to come back with the code."""

    def __init__(self, provider: Provider, state: str) -> None:
        wanted = urlsplit(provider.registration.redirect_uri or f"http://{_HOST}:0/")
        try:
            super().__init__((_HOST, wanted.port or 0), _Handler)
        except OSError as error:
            raise HostError(
                f"port {wanted.port} of this machine cannot be used: {error.strerror}",
                "end what uses it, or log in with --device",
            ) from error
        self.state, self.path = state, wanted.path or "/"
        self.issuer = provider.issuer
        self.names_issuer = bool(
            provider.metadata.get("authorization_response_iss_parameter_supported")
        )
        self.query = ""
        self.uri = f"http://{wanted.hostname}:{self.server_port}{wanted.path or '/'}"

    def accepts(self, query: str) -> bool:
        """Whether a query answers our request: other pages and programs can call this port, too."""
        said = parse_qs(query)
        issuer = said.get("iss", [self.issuer] if not self.names_issuer else [""])
        state = said.get("state", [""])[0]
        return hmac.compare_digest(state.encode(), self.state.encode()) and issuer == [self.issuer]

    def wait(self, seconds: float) -> str:
        """The query of the answer.

        Raises:
            WaitTimeoutError: None came.
        """
        until = time.monotonic() + seconds
        while not self.query:
            left = until - time.monotonic()
            if left <= 0:
                raise WaitTimeoutError(
                    "nobody has logged in with the browser", "try again, or log in with --device"
                )
            self.timeout = left
            self.handle_request()
        return self.query

    def handle_error(self, *_about: object) -> None:
        """A connection that breaks is not the one that is waited for."""


class _Handler(BaseHTTPRequestHandler):
    server: _Callback
    timeout = _STALL

    def do_GET(self) -> None:
        """Take the answer, and tell the person in the browser."""
        parts = urlsplit(self.path)
        if parts.path != self.server.path or not self.server.accepts(parts.query):
            self._say(HTTPStatus.BAD_REQUEST, "This is not the answer to devctl's login.")
            return
        self.server.query = parts.query
        failed = "error" in parse_qs(parts.query)
        self._say(HTTPStatus.OK, f"{'The login failed.' if failed else 'Done.'} {_DONE}")

    def log_message(self, *_about: object) -> None:
        """Print nothing: the query is secret."""

    def _say(self, status: HTTPStatus, text: str) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(_PAGE.format(text).encode())
