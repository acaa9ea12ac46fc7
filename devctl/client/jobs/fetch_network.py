"""Connections to addresses that were looked at: each is to the very address, in its time."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

import httpcore2

from devctl.client.jobs.fetch_guard import allowed
from devctl.errors import UsageError, WaitTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Resolve = Callable[[str, int], Sequence[str]]

_CONNECT = 10.0
"""Seconds in which one address has to answer."""
_SILENCE = 60.0
"""Seconds for which a server may send nothing."""


def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, all of them.

    Raises:
        UsageError: There is no such host.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"`{host}` cannot be found: {getattr(error, 'strerror', None) or error}",
            "see whether its name is right, and whether this machine reaches the internet",
        ) from error
    return [str(entry[4][0]) for entry in found]


class Deadline:
    """A moment by which all has to be over."""

    def __init__(self, seconds: float) -> None:
        """Begin now."""
        self._seconds = seconds
        self._until = time.monotonic() + seconds

    def left(self, most: float = _SILENCE) -> float:
        """Seconds that the next step may take.

        Raises:
            WaitTimeoutError: There are none left.
        """
        left = self._until - time.monotonic()
        if left <= 0:
            raise WaitTimeoutError(
                f"the file has not come within {self._seconds:.0f} s", "allow more with --timeout"
            )
        return min(left, most)


class PinnedNetwork(httpcore2.NetworkBackend):
    """Looks a host up once and connects to one of just those addresses, if all of them will do."""

    def __init__(
        self, deadline: Deadline, *, allow_private: bool, lookup: Resolve = resolve
    ) -> None:
        """Connect to nothing yet."""
        self._deadline = deadline
        self._allow_private = allow_private
        self._lookup = lookup
        self._plain = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline is ours
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to a host, by an address that was looked at."""
        found = allowed(host, self._lookup(host, port), allow_private=self._allow_private)
        for number, address in enumerate(found):
            try:
                stream = self._plain.connect_tcp(
                    address, port, self._deadline.left(_CONNECT), local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if number == len(found) - 1:
                    raise
                continue
            return _Timed(stream, self._deadline)
        raise AssertionError  # there is at least one


class _Timed(httpcore2.NetworkStream):
    """A connection that ends at the deadline, however slowly the other side dribbles."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        return self._stream.read(max_bytes, self._deadline.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._stream.write(buffer, self._deadline.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: Any,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        left = self._deadline.left(_CONNECT)
        return _Timed(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
