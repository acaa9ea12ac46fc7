"""A socket, with TLS or without, for a thread that reads and another that writes."""

from __future__ import annotations

import select
import socket
import ssl
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_RECORD = 16 * 1024
_ENDED = select.POLLHUP | select.POLLERR | select.POLLNVAL


class TlsInTls:
    """TLS inside the TLS of a proxy, with a socket's non-blocking methods.

    Python has no such socket: the inner TLS reads and writes memory.
    """

    def __init__(self, inner: ssl.SSLObject, outer: ssl.SSLSocket) -> None:
        """Take over both after their handshakes; see `remember_memory`."""
        self._inner, self._outer = inner, outer
        memory: tuple[ssl.MemoryBIO, ssl.MemoryBIO] = inner.devctl_memory  # type: ignore[attr-defined]
        self._incoming, self._outgoing = memory
        self._encrypted = b""
        self._taken = 0

    def recv(self, size: int) -> bytes:
        """The next bytes that have arrived."""
        while True:
            try:
                return self._inner.read(size)
            except ssl.SSLZeroReturnError:
                return b""
            except ssl.SSLWantReadError:
                self._push()
                if data := self._outer.recv(_RECORD):
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()

    def send(self, data: memoryview) -> int:
        """Send a part; a caller that is told to wait must repeat the same data."""
        if not self._taken:
            self._taken = self._inner.write(data[:_RECORD])
        self._push()
        sent, self._taken = self._taken, 0
        return sent

    def _push(self) -> None:
        self._encrypted += self._outgoing.read()
        while self._encrypted:
            self._encrypted = self._encrypted[self._outer.send(self._encrypted) :]


def remember_memory(context: ssl.SSLContext) -> None:
    """Have what a context wraps keep the memory that it reads and writes."""
    wrap = context.wrap_bio

    def wrap_bio(
        incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *about: Any, **more: Any
    ) -> ssl.SSLObject:
        made = wrap(incoming, outgoing, *about, **more)
        made.devctl_memory = (incoming, outgoing)  # type: ignore[attr-defined]
        return made

    context.wrap_bio = wrap_bio  # type: ignore[method-assign]


class SerialTls:
    """A connected socket that two threads may use at once.

    OpenSSL connections are not thread-safe. A lock is held only while OpenSSL moves bytes that have
    arrived; threads wait outside of it, so that a waiting reader does not block a writer. Both get
    an OSError if the connection fails.
    """

    def __init__(
        self,
        connected: socket.socket,
        closing: Callable[[], object] | None = None,
        inside: TlsInTls | None = None,
    ) -> None:
        """Take over a socket after its TLS handshake, if any.

        `closing` replaces its own `close`; `inside` is the TLS within a proxy's.
        """
        connected.settimeout(0)
        self._socket = connected
        self._carrier: socket.socket | TlsInTls = inside or connected
        self._closing = closing or connected.close
        self._openssl = threading.Lock()
        self._users = threading.Lock()
        self._inside = 0
        self._closed = False

    def read(self, size: int, timeout: float | None = None) -> bytes | None:
        """The next bytes; empty at the end, None after `timeout` seconds."""
        with self._used():
            while True:
                try:
                    with self._openssl:
                        return self._carrier.recv(size)
                except (BlockingIOError, ssl.SSLWantReadError):
                    wanted = select.POLLIN
                except ssl.SSLWantWriteError:
                    wanted = select.POLLOUT
                except ssl.SSLEOFError:
                    return b""
                if not self._wait(wanted, timeout):
                    return None

    def write(self, data: bytes) -> None:
        """Send all bytes; only one thread at a time may."""
        view = memoryview(data)
        with self._used():
            while view:
                try:
                    with self._openssl:
                        view = view[self._carrier.send(view) :]
                    continue
                except (BlockingIOError, ssl.SSLWantWriteError):
                    wanted = select.POLLOUT
                except ssl.SSLWantReadError:
                    wanted = select.POLLIN
                self._wait(wanted, None)

    def takes(self) -> bool:
        """Whether a few bytes can be written without waiting."""
        try:
            with self._used():
                return self._wait(select.POLLOUT, 0)
        except OSError:
            return False

    def close(self, linger: float = 0.0) -> None:
        """Close the connection; waiting threads wake up.

        For up to `linger` seconds, the other side may still receive what was sent. Otherwise the
        kernel discards that if something is unread on this side.
        """
        with self._users:
            if self._closed:
                return
            self._closed = True
            self._inside += 1
        try:
            # SSLSocket's own would turn it into a plain socket under the other thread.
            with suppress(OSError):
                if linger:
                    socket.socket.shutdown(self._socket, socket.SHUT_WR)
                    self._read_off(time.monotonic() + linger)
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        finally:
            self._leave()

    @contextmanager
    def _used(self) -> Iterator[None]:
        """Keep the file descriptor while it is used: its number could become another file's."""
        with self._users:
            if self._closed:
                raise ConnectionAbortedError("it was closed on this side")
            self._inside += 1
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._users:
            self._inside -= 1
            if self._closed and not self._inside:
                self._closing()

    def _read_off(self, until: float) -> None:
        """Discard what arrives until the other side closes."""
        poll = select.poll()
        poll.register(self._socket.fileno(), select.POLLIN)
        while (left := until - time.monotonic()) > 0 and poll.poll(left * 1000):
            with suppress(BlockingIOError):
                if not socket.socket.recv(self._socket, 1 << 16):
                    return

    def _wait(self, wanted: int, timeout: float | None) -> bool:
        poll = select.poll()
        poll.register(self._socket.fileno(), wanted)
        found = poll.poll(None if timeout is None else timeout * 1000)
        if found and found[0][1] & _ENDED and self._closed:
            raise ConnectionAbortedError("it was closed on this side")
        return bool(found)
