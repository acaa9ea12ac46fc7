"""A WebSocket to the API server, for a thread that receives and others that send.

`websockets` implements the protocol. Its own connections hold a lock while they wait for the
network: a blocked sender would block the receiver, and two sides that both send much would deadlock
(docs/decisions/0008-streams-over-websockets.md).
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidState, NegotiationError
from websockets.frames import Opcode
from websockets.protocol import State
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from devctl.errors import ConnectionLostError, DevctlError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from websockets.frames import Frame

    from devctl.kube.serial_tls import SerialTls

SILENCE = 25.0
"""Seconds of silence before a ping, as load balancers close idle connections."""
LARGEST = 64 * 1024 * 1024
"""The size limit of messages in bytes; Kubernetes' are far smaller."""
_CHUNK = 256 * 1024
_DATA = (Opcode.BINARY, Opcode.TEXT, Opcode.CONT)


class Handshake:
    """The start of a WebSocket: headers to send, and a check of the answer."""

    def __init__(self, protocols: Sequence[str]) -> None:
        """Offer some subprotocols."""
        # The address does not matter: the request is sent by others.
        self.protocol = ClientProtocol(
            parse_uri("ws://cluster/"),
            subprotocols=[Subprotocol(name) for name in protocols],
            max_size=LARGEST,
        )
        asked = self.protocol.connect()
        self.headers = [pair for pair in asked.headers.raw_items() if pair[0] != "Host"]
        self.protocol.send_request(asked)
        self.protocol.data_to_send()

    def take(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Check the headers of an answer that switches protocols.

        Raises:
            DevctlError: They do not answer this handshake, or choose none of the subprotocols.
        """
        lines = [b"HTTP/1.1 101 Switching Protocols", *(b": ".join(pair) for pair in headers)]
        self.protocol.receive_data(b"\r\n".join([*lines, b"", b""]))
        self.protocol.events_received()
        failed = self.protocol.handshake_exc
        if isinstance(failed, NegotiationError) or (not failed and not self.protocol.subprotocol):
            raise DevctlError(
                f"the cluster offers no streams that devctl understands: {failed or 'none'}",
                "it needs Kubernetes 1.30 or newer",
            )
        if failed:
            raise DevctlError(
                f"something between here and the API server breaks WebSockets: {failed}",
                "have a proxy or a load balancer on the way pass them on",
            )


class WebSocket:
    """An open connection; one thread may receive while others send.

    Both get a ConnectionLostError if it was lost, or closed on this side.
    """

    def __init__(
        self,
        connection: SerialTls,
        protocol: ClientProtocol,
        about: str,
        leftover: bytes = b"",
        silence: float = SILENCE,
    ) -> None:
        """Take over a connection after its handshake.

        `about` names its other end in errors; `leftover` came behind the handshake.
        """
        self._connection = connection
        self._protocol = protocol
        self._about = about
        self._silence = silence
        self._frames: deque[Frame] = deque()
        self._state = threading.Lock()
        """Held briefly, around the protocol."""
        self._sending = threading.Lock()
        """Held for as long as sending takes."""
        self._due = False
        """Whether a ping, a pong or the end has yet to be sent."""
        if leftover:
            self._take(leftover)

    def send(self, head: bytes, data: bytes | memoryview = b"") -> None:
        """Send `head` and `data` as one message; blocks while the other side does not read."""
        try:
            with self._sending:
                with self._state:
                    self._protocol.send_binary(b"".join((head, data)))
                self._flush()
        except OSError as error:
            raise self._failed(error) from error
        except InvalidState as error:
            ours = self._protocol.close_rcvd is None and self._protocol.parser_exc is None
            raise self.lost(
                "it was closed on this side" if ours else "the other side has ended it"
            ) from error

    def receive(self) -> bytes | None:
        """The next message; None after the other side has closed the WebSocket."""
        parts: list[bytes | bytearray | memoryview] = []
        while True:
            while not self._frames:
                self._read()
            frame = self._frames.popleft()
            if frame.opcode is Opcode.CLOSE:
                return None
            if frame.opcode in _DATA:
                parts.append(frame.data)
                if frame.fin:
                    return b"".join(parts)

    def close(self, linger: float = 0.0) -> None:
        """Close it; any thread may, more than once. See SerialTls.close."""
        with self._state:
            if self._protocol.state is State.OPEN:
                self._protocol.send_close(1000)
        self._answer()
        self._connection.close(linger)

    def lost(self, why: str) -> ConnectionLostError:
        """The error for a connection that has ended early."""
        return ConnectionLostError(
            f"the connection to {self._about} was lost: {why}",
            "the pod may have ended: see `devctl describe`; else try again",
        )

    def _read(self) -> None:
        if self._protocol.parser_exc:
            raise self.lost(f"this is not an API server's WebSocket: {self._protocol.parser_exc}")
        try:
            data = self._connection.read(_CHUNK, self._silence)
        except OSError as error:
            raise self._failed(error) from error
        if data is None:
            with self._state:
                self._protocol.send_ping(b"")
                self._due = True
        elif data:
            self._take(data)
        else:
            raise self.lost("the other side broke off")
        # Not for each piece of a file: to ask whether the socket takes bytes is a system call.
        if self._due:
            self._answer()

    def _take(self, data: bytes) -> None:
        with self._state:
            self._protocol.receive_data(data)
            # After the handshake, all events are frames.
            frames: list[Frame] = self._protocol.events_received()  # type: ignore[assignment]
            self._frames += frames
            answered = any(frame.opcode not in _DATA for frame in frames)
            self._due |= answered or self._protocol.parser_exc is not None

    def _answer(self) -> None:
        """Send pings, pongs and the end unless that would block; a sender takes them along."""
        if not self._sending.acquire(blocking=False):
            return
        try:
            if self._connection.takes():
                self._flush()
                self._due = False
        except OSError:
            pass  # the next `receive` raises it
        finally:
            self._sending.release()

    def _flush(self) -> None:
        while True:
            with self._state:
                pieces = self._protocol.data_to_send()
            if not any(pieces):
                return
            for piece in pieces:
                self._connection.write(piece)

    def _failed(self, error: OSError) -> ConnectionLostError:
        return self.lost(error.strerror or str(error) or type(error).__name__)
