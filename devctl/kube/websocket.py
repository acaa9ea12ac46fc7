"""A WebSocket (RFC 6455), as far as the API server uses it: binary messages over HTTP/1.1."""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import TYPE_CHECKING

from devctl.errors import DevctlError

if TYPE_CHECKING:
    from devctl.kube.serial_tls import SerialTls

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
SILENCE = 25.0
"""Seconds without a word after which a ping keeps what is between awake: load balancers hang up."""
LARGEST = 64 * 1024 * 1024
"""Bytes that a message may have; Kubernetes' are far smaller."""
_FINAL, _MASKED = 0x80, 0x80
_IN_16_BITS, _IN_64_BITS = 126, 127
_CHUNK = 256 * 1024
_NORMAL = (1000).to_bytes(2)


class ConnectionLostError(DevctlError):
    """A stream to or from a pod has ended before its time."""


class WebSocket:
    """An open connection; one thread may receive while others send."""

    def __init__(
        self, connection: SerialTls, about: str, leftover: bytes = b"", silence: float = SILENCE
    ) -> None:
        """Take over a connection after its handshake.

        Args:
            connection: What carries it.
            about: What it leads to, for errors.
            leftover: What came behind the handshake.
            silence: Seconds without a word after which a ping is sent.
        """
        self._connection = connection
        self._about = about
        self._buffer = bytearray(leftover)
        self._silence = silence
        self._sending = threading.Lock()
        self._replies: deque[bytes] = deque(maxlen=8)
        self._closing = False

    def send(self, head: bytes, data: bytes | memoryview = b"") -> None:
        """Send `head` and `data` as one message; waits while the other side takes nothing.

        Raises:
            ConnectionLostError: Nobody is there any more.
        """
        message = frame(BINARY, b"".join((head, data)))
        try:
            with self._sending:
                self._connection.write(message)
                self._reply()
        except OSError as error:
            raise self._lost(error) from error

    def receive(self) -> bytes | None:
        """The next message; None when the other side has ended the conversation.

        Raises:
            ConnectionLostError: The connection broke off.
        """
        parts: list[bytes] = []
        while True:
            kind, final, payload = self._frame()
            if kind == CLOSE:
                self._answer(frame(CLOSE, payload[:2]))
                return None
            if kind == PING:
                self._answer(frame(PONG, payload))
            elif kind in {BINARY, TEXT, CONTINUATION}:
                parts.append(payload)
                if sum(map(len, parts)) > LARGEST:
                    raise self._broken("a message has no end")
                if final:
                    return payload if len(parts) == 1 else b"".join(parts)

    def close(self, linger: float = 0.0) -> None:
        """Hang up; from any thread, and more than once.

        Args:
            linger: Seconds for which the other side may still take what it was sent.
        """
        if not self._closing:
            self._closing = True
            self._answer(frame(CLOSE, _NORMAL))
        self._connection.close(linger)

    def _frame(self) -> tuple[int, bool, bytes]:
        self._need(2)
        first, second = self._buffer[0], self._buffer[1]
        if second & _MASKED or first & 0x70:
            raise self._broken("it is no WebSocket of an API server")
        size, begin = second & 0x7F, 2
        if size in {_IN_16_BITS, _IN_64_BITS}:
            begin = 4 if size == _IN_16_BITS else 10
            self._need(begin)
            size = int.from_bytes(self._buffer[2:begin])
        if size > LARGEST:
            raise self._broken("a message is too long")
        self._need(begin + size)
        payload = bytes(memoryview(self._buffer)[begin : begin + size])
        del self._buffer[: begin + size]
        return first & 0x0F, bool(first & _FINAL), payload

    def _need(self, size: int) -> None:
        """Have at least so many bytes in the buffer."""
        while len(self._buffer) < size:
            try:
                data = self._connection.read(_CHUNK, self._silence)
            except OSError as error:
                raise self._lost(error) from error
            if data is None:
                self._answer(frame(PING, b""))
            elif not data:
                raise self._broken("the other side broke off")
            else:
                self._buffer += data

    def _answer(self, message: bytes) -> None:
        """Send a few bytes, unless that would wait: whoever receives must go on receiving.

        Where somebody is sending, they follow behind that.
        """
        self._replies.append(message)
        if not self._sending.acquire(blocking=False):
            return
        try:
            if self._connection.takes():
                self._reply()
        except OSError:
            self._replies.clear()  # whoever receives next is told
        finally:
            self._sending.release()

    def _reply(self) -> None:
        while self._replies:
            self._connection.write(self._replies.popleft())

    def _lost(self, error: OSError) -> ConnectionLostError:
        return self._broken(error.strerror or str(error) or type(error).__name__)

    def _broken(self, why: str) -> ConnectionLostError:
        return ConnectionLostError(
            f"the connection to {self._about} was lost: {why}",
            "the pod may have ended: see `devctl describe`; else try again",
        )


def frame(kind: int, payload: bytes) -> bytes:
    """A message of a client: whole, and masked as the RFC asks of clients."""
    size = len(payload)
    if size < _IN_16_BITS:
        head = bytes([_FINAL | kind, _MASKED | size])
    elif size < 1 << 16:
        head = bytes([_FINAL | kind, _MASKED | _IN_16_BITS]) + size.to_bytes(2)
    else:
        head = bytes([_FINAL | kind, _MASKED | _IN_64_BITS]) + size.to_bytes(8)
    key = os.urandom(4)
    return b"".join((head, key, masked(payload, key)))


def masked(payload: bytes, key: bytes) -> bytes:
    """A payload XOR its key, over and over; as one large number, which Python is fast at.

    >>> masked(masked(b"hello", b"abcd"), b"abcd")
    b'hello'
    """
    size = len(payload)
    mask = (key * (size // 4 + 1))[:size]
    both = int.from_bytes(payload, "little") ^ int.from_bytes(mask, "little")
    return both.to_bytes(size, "little")
