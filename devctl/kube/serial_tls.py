"""One socket, with TLS or without, for a thread that reads and another that writes."""

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
    """TLS that goes through the TLS of a proxy, with a socket's methods; it never blocks.

    Python has no such socket: the inner TLS reads and writes memory, and what it writes is sent.
    """

    def __init__(self, inner: ssl.SSLObject, outer: ssl.SSLSocket) -> None:
        """Take over both after their handshakes; see `remember_memory`."""
        self._inner, self._outer = inner, outer
        self._incoming, self._outgoing = _memory(inner)
        self._encrypted = b""
        self._taken = 0

    def recv(self, size: int) -> bytes:
        """What has come; waiting is for whoever asks."""
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
        """Send some of it; who is told to wait has to come again with the same."""
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
    """Have what a context wraps remember the memory that it reads and writes."""
    wrap = context.wrap_bio

    def wrap_bio(
        incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *about: Any, **more: Any
    ) -> ssl.SSLObject:
        made = wrap(incoming, outgoing, *about, **more)
        made.devctl_memory = (incoming, outgoing)  # type: ignore[attr-defined]
        return made

    context.wrap_bio = wrap_bio  # type: ignore[method-assign]


def _memory(inner: ssl.SSLObject) -> tuple[ssl.MemoryBIO, ssl.MemoryBIO]:
    found: tuple[ssl.MemoryBIO, ssl.MemoryBIO] = inner.devctl_memory  # type: ignore[attr-defined]
    return found


class SerialTls:
    """A connected socket that two threads may use at once.

    OpenSSL's connections are not made for two threads. Here only one of them is inside OpenSSL at a
    time, never for longer than it takes to move what is there already; they wait outside, so that
    a reader that waits holds no writer up.
    """

    def __init__(
        self,
        connected: socket.socket,
        closing: Callable[[], object] | None = None,
        inside: TlsInTls | None = None,
    ) -> None:
        """Take over a socket, after its handshake where it has TLS.

        Args:
            connected: The socket.
            closing: What closes it; else it closes itself.
            inside: What its bytes are for, where a proxy has TLS of its own.
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
        """The next bytes; empty at the end, None where none came in time.

        Raises:
            OSError: The connection has failed.
        """
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
        """Send all bytes; only one thread at a time may.

        Raises:
            OSError: The connection has failed.
        """
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
        """End the connection; whoever waits for it is woken, with an error or an end.

        Args:
            linger: Seconds for which the other side may still take what it was sent: with something
                unread on this side, an end at once would have the kernel throw all that away.
        """
        with self._users:
            if self._closed:
                return
            self._closed = True
            self._inside += 1
        try:
            # Not SSLSocket's own, which would make a plain socket of it under the other thread.
            with suppress(OSError):
                if linger:
                    socket.socket.shutdown(self._socket, socket.SHUT_WR)
                    self._read_off(time.monotonic() + linger)
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        finally:
            self._leave()

    @contextmanager
    def _used(self) -> Iterator[None]:
        """Keep the file descriptor while somebody uses it: its number could be another file's."""
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
        """Read whatever comes, for nobody, until the other side ends."""
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
