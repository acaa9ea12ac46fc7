"""Downloading a file from a URL, piece by piece, from addresses that fetch_guard admits."""

from __future__ import annotations

import socket
import ssl
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin

import httpcore2
import httpx2

from devctl.client.files.transfer import amount
from devctl.client.jobs.fetch_guard import allowed, check_url
from devctl.client.waiting import ignore
from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError, WaitTimeoutError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from devctl.client.jobs.fetch_guard import Target

    Resolve = Callable[[str, int], Sequence[str]]

_CONNECT = 10.0
"""Seconds for one address to accept a connection."""
_SILENCE = 60.0
"""Seconds that a server may be silent."""
_HOPS = 5
"""Redirects, at most."""
_REDIRECTED = {301, 302, 303, 307, 308}
_HEADERS = [("Accept", "*/*"), ("Accept-Encoding", "identity"), ("User-Agent", "egpu")]


def resolve(host: str, port: int) -> Sequence[str]:
    """All addresses of a host; raises UsageError if it cannot be resolved."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"`{host}` cannot be found: {getattr(error, 'strerror', None) or error}",
            "check its name, and whether this machine reaches the internet",
        ) from error
    return [str(entry[4][0]) for entry in found]


class Limits(NamedTuple):
    """What a fetch may take."""

    size: int = 1 << 30
    seconds: float = 600.0
    """In total."""
    allow_private: bool = False
    """Whether addresses in one's own network are allowed."""
    lookup: Resolve = resolve

    def addresses(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a host, if all of them are allowed; see fetch_guard.allowed."""
        return allowed(host, self.lookup(host, port), allow_private=self.allow_private)


def look_up(url: str, limits: Limits) -> None:
    """Raise an error if a URL cannot be fetched, as far as can be told without fetching it."""
    target = check_url(url)
    limits.addresses(target.host, target.port)


def fetch(url: str, limits: Limits, announced: Callable[[int], None] = ignore) -> Iterator[bytes]:
    """The content of a URL, piece by piece.

    `announced` is told the size if the server announces it. Proxies from the environment are not
    used: they would resolve the host again. Raises DevctlError if it exceeds the limits or cannot
    be fetched.
    """
    network = _PinnedNetwork(limits)
    target = check_url(url)
    for _ in range(_HOPS + 1):
        with _answer(target, network) as answer:
            headers = httpx2.Headers(answer.headers)
            if answer.status in _REDIRECTED:
                target = redirected(target, headers.get("location", ""))
                continue
            if (expected := _check(target, answer.status, headers, limits)) is not None:
                announced(expected)
            size = 0
            for piece in answer.iter_stream():
                # No header can be trusted about the size.
                size += len(piece)
                if size > limits.size:
                    raise _too_large(target, limits)
                yield piece
            return
    raise DevctlError(f"`{_shown(url)}` redirects more than {_HOPS} times", "name the final URL")


@contextmanager
def _answer(target: Target, network: _PinnedNetwork) -> Iterator[httpcore2.Response]:
    """The response to a GET, with errors that say what to do."""
    shown = _shown(target.url)
    try:
        with (
            httpcore2.ConnectionPool(
                ssl_context=ssl.create_default_context(), network_backend=network
            ) as pool,
            pool.stream("GET", target.url, headers=_HEADERS) as answer,
        ):
            yield answer
    except httpcore2.TimeoutException as error:
        raise WaitTimeoutError(f"`{shown}` does not answer in time", "try again") from error
    except httpcore2.ProtocolError as error:
        raise DevctlError(
            f"`{shown}` did not arrive completely: {readable(str(error))}", "try again"
        ) from error
    except (httpcore2.NetworkError, ssl.SSLError, OSError) as error:
        raise DevctlError(
            f"`{shown}` cannot be reached: {readable(str(error))}", "check your network"
        ) from error


def redirected(target: Target, location: str) -> Target:
    """The target of a redirect, checked as if typed; raises DevctlError if it is refused."""
    shown = _shown(target.url)
    if not location:
        raise DevctlError(f"`{shown}` redirects nowhere", "name the final URL")
    found = check_url(urljoin(target.url, location))
    if target.scheme == "https" and found.scheme != "https":
        raise DeniedError(
            f"`{shown}` redirects from https to http", f"if intended, name `{_shown(found.url)}`"
        )
    return found


def _check(target: Target, status: int, headers: httpx2.Headers, limits: Limits) -> int | None:
    """Check that a response is a file within the limits; returns the size that it announces."""
    shown = _shown(target.url)
    if status in {404, 410}:
        raise NotFoundError(f"`{shown}` does not exist: {status}", "check the URL")
    if status in {401, 403}:
        raise DeniedError(f"`{shown}` is not public: {status}", "use a signed URL")
    if status != 200:  # noqa: PLR2004 - 206 and the like are not a whole file
        raise DevctlError(f"`{shown}` answered {status}", "try again later")
    if headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        raise DevctlError(f"`{shown}` arrives compressed", "download it yourself")
    said = headers.get("content-length", "")
    size = int(said) if said.isascii() and said.isdecimal() else None
    if size is not None and size > limits.size:
        raise _too_large(target, limits)
    return size


def _too_large(target: Target, limits: Limits) -> DevctlError:
    shown = f"`{_shown(target.url)}` is larger than {amount(limits.size)}"
    return DevctlError(shown, "allow more with --max-size")


def _shown(url: str) -> str:
    """A URL without its query, which may hold a signature."""
    return readable(url.partition("?")[0])[:200]


class _PinnedNetwork(httpcore2.NetworkBackend):
    """Resolves a host once per connection, checks all addresses and connects to one of those."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._until = time.monotonic() + limits.seconds
        self._plain = httpcore2.SyncBackend()

    def left(self, most: float) -> float:
        """Seconds that the next step may take."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise WaitTimeoutError(
                f"the file has not arrived within {self._limits.seconds:.0f} s",
                "allow more with --timeout",
            )
        return min(left, most)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline is ours
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        *others, last = self._limits.addresses(host, port)
        for address in others:
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return self._connect(address, port, local_address, socket_options)
        return self._connect(last, port, local_address, socket_options)

    def _connect(self, address: str, port: int, *options: Any) -> _Timed:
        left = self.left(_CONNECT)
        return _Timed(self._plain.connect_tcp(address, port, left, *options), self)


class _Timed(httpcore2.NetworkStream):
    """A connection that ends at the deadline, however slowly the other side dribbles."""

    def __init__(self, stream: httpcore2.NetworkStream, network: _PinnedNetwork) -> None:
        self._stream, self._network = stream, network

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        return self._stream.read(max_bytes, self._network.left(_SILENCE))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._stream.write(buffer, self._network.left(_SILENCE))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: Any,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        left = self._network.left(_CONNECT)
        return _Timed(self._stream.start_tls(ssl_context, server_hostname, left), self._network)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
