"""Downloads over HTTP: to the address that was checked, with the token for its own server only."""

from __future__ import annotations

import http.client
import socket
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from devctl_cache_agent.addresses import Origin, is_allowed, origin, redirected
from devctl_cache_agent.problems import CacheError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SECONDS = 60.0
_MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class Answer(Protocol):
    """A server's answer, whose body has not been read yet."""

    status: int

    def getheader(self, name: str) -> str | None:
        """A header."""

    def read1(self, n: int) -> bytes:
        """The next bytes of the body, as many as have come."""


class Web:
    """Servers of models.

    Args:
        endpoint: The hub, or a mirror of it.
        token: What it is asked with; None for none. Read each time, since it may change.
        context: Which authorities are believed.
    """

    def __init__(
        self,
        endpoint: str,
        token: Callable[[], str | None],
        context: ssl.SSLContext | None = None,
    ) -> None:
        """Connect to nothing yet."""
        self._endpoint = endpoint.rstrip("/")
        self._home = origin(endpoint)
        self._token = token
        self._context = context

    @contextmanager
    def get(self, path: str, start: int = 0) -> Iterator[Answer]:
        """Ask for something of the hub's, and follow where it sends.

        Args:
            path: The path, with its query.
            start: The first byte that is wanted.

        Raises:
            CacheError: There is no such answer.
        """
        url = self._endpoint + path
        for _ in range(_MAX_REDIRECTS):
            connection = self._connect(origin(url))
            try:
                answer = self._ask(connection, url, start)
                if answer.status not in _REDIRECTS:
                    yield answer
                    return
                url = redirected(url, answer.getheader("Location") or "", self._home)
            finally:
                connection.close()
        raise CacheError("it is sent on too often")

    def _ask(
        self, connection: http.client.HTTPConnection, url: str, start: int
    ) -> http.client.HTTPResponse:
        parts = urlsplit(url)
        there = origin(url)
        headers = {"User-Agent": "devctl-cache-agent", "Accept-Encoding": "identity"}
        token = self._token()
        if token and there == self._home:
            headers["Authorization"] = f"Bearer {token}"
        if start:
            headers["Range"] = f"bytes={start}-"
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request("GET", target, headers=headers)
            return connection.getresponse()
        except (OSError, http.client.HTTPException, ValueError) as error:
            # Not its text, which may have the whole address with its signature.
            raise CacheError(f"{there.host}: {type(error).__name__}") from error

    def _connect(self, there: Origin) -> http.client.HTTPConnection:
        try:
            found = socket.getaddrinfo(there.host, there.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise CacheError(f"{there.host}: {error}") from error
        addresses = [str(each[4][0]) for each in found]
        if not addresses or not all(is_allowed(each, there, self._home) for each in addresses):
            raise CacheError(f"it is sent on to {there.host}, which is not in the internet")
        if there.scheme == "http":
            return _Pinned(there.host, there.port, addresses)
        if self._context is None:
            # Once, and only if it is needed: it holds all authorities of the system.
            self._context = ssl.create_default_context()
        return _PinnedTls(there.host, there.port, addresses, self._context)


class _Pinned(http.client.HTTPConnection):
    """A connection to an address that was looked up before."""

    def __init__(self, host: str, port: int, addresses: list[str]) -> None:
        super().__init__(host, port, timeout=_SECONDS)
        self._addresses = addresses

    def connect(self) -> None:
        """Connect to the first address that answers."""
        self.sock = _first(self._addresses, self.port)


class _PinnedTls(http.client.HTTPSConnection):
    """The same with TLS, by the server's name."""

    def __init__(self, host: str, port: int, addresses: list[str], context: ssl.SSLContext) -> None:
        super().__init__(host, port, timeout=_SECONDS, context=context)
        self._addresses, self._tls = addresses, context

    def connect(self) -> None:
        """Connect to the first address that answers."""
        plain = _first(self._addresses, self.port)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self.host)


def _first(addresses: list[str], port: int) -> socket.socket:
    problem: OSError | None = None
    for address in addresses:
        try:
            return socket.create_connection((address, port), _SECONDS)
        except OSError as error:
            problem = error
    raise problem or OSError("no address")
