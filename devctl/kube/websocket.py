"""A WebSocket to the API server, for a thread that receives and others that send.

`websockets` knows the protocol. Its own connections hold one lock while they wait for the network:
whoever sends to a server that takes nothing holds up whoever receives, and two sides that both have
much to say stand still (docs/decisions/0008-streams-over-websockets.md).
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
"""Seconds without a word after which a ping keeps what is between awake: load balancers hang up."""
LARGEST = 64 * 1024 * 1024
"""Bytes that a message may have; Kubernetes' are far smaller."""
_CHUNK = 256 * 1024
_DATA = (Opcode.BINARY, Opcode.TEXT, Opcode.CONT)


class Handshake:
    """What is asked of the API server, and whether its answer begins a WebSocket."""

    def __init__(self, protocols: Sequence[str]) -> None:
        """Choose a key.

        Args:
            protocols: What is spoken over it, one of them.
        """
        # Where it leads is what carries the request's to know.
        self.protocol = ClientProtocol(
            parse_uri("ws://cluster/"),
            subprotocols=[Subprotocol(name) for name in protocols],
            max_size=LARGEST,
        )
        asked = self.protocol.connect()
        self.headers = [pair for pair in asked.headers.raw_items() if pair[0] != "Host"]
        self.protocol.send_request(asked)
        self.protocol.data_to_send()  # the request goes another way

    def take(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Take the headers of an answer that switches protocols.

        Raises:
            DevctlError: They are no answer to this handshake, or choose none of the protocols.
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
    """An open connection; one thread may receive while others send."""

    def __init__(
        self,
        connection: SerialTls,
        protocol: ClientProtocol,
        about: str,
        leftover: bytes = b"",
        silence: float = SILENCE,
    ) -> None:
        """Take over a connection after its handshake.

        Args:
            connection: What carries it.
            protocol: What has made the handshake.
            about: What it leads to, for errors.
            leftover: What came behind the handshake.
            silence: Seconds without a word after which a ping is sent.
        """
        self._connection = connection
        self._protocol = protocol
        self._about = about
        self._silence = silence
        self._frames: deque[Frame] = deque()
        self._state = threading.Lock()
        """For a moment, around the protocol."""
        self._sending = threading.Lock()
        """For as long as the other side takes."""
        if leftover:
            self._take(leftover)

    def send(self, head: bytes, data: bytes | memoryview = b"") -> None:
        """Send `head` and `data` as one message; waits while the other side takes nothing.

        Raises:
            ConnectionLostError: Nobody is there any more.
        """
        try:
            with self._sending:
                with self._state:
                    self._protocol.send_binary(b"".join((head, data)))
                self._flush()
        except OSError as error:
            raise self._lost(error) from error
        except InvalidState as error:
            ours = self._protocol.close_rcvd is None and self._protocol.parser_exc is None
            raise self._broken(
                "it was closed on this side" if ours else "the other side has ended it"
            ) from error

    def receive(self) -> bytes | None:
        """The next message; None when the other side has ended the conversation.

        Raises:
            ConnectionLostError: The connection broke off.
        """
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
        """Hang up; from any thread, and more than once.

        Args:
            linger: Seconds for which the other side may still take what it was sent.
        """
        with self._state:
            if self._protocol.state is State.OPEN:
                self._protocol.send_close(1000)
        self._answer()
        self._connection.close(linger)

    def _read(self) -> None:
        if self._protocol.parser_exc:
            raise self._broken(f"it is no WebSocket of an API server: {self._protocol.parser_exc}")
        try:
            data = self._connection.read(_CHUNK, self._silence)
        except OSError as error:
            raise self._lost(error) from error
        if data is None:
            with self._state:
                self._protocol.send_ping(b"")
        elif data:
            self._take(data)
        else:
            raise self._broken("the other side broke off")
        self._answer()

    def _take(self, data: bytes) -> None:
        with self._state:
            self._protocol.receive_data(data)
            # Of a client all events after the handshake are frames.
            self._frames += self._protocol.events_received()  # type: ignore[arg-type]

    def _answer(self) -> None:
        """Send pings, pongs and the end, unless that would wait: whoever receives goes on.

        Where somebody is sending, they follow behind that.
        """
        if not self._sending.acquire(blocking=False):
            return
        try:
            if self._connection.takes():
                self._flush()
        except OSError:
            pass  # whoever receives next is told
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

    def _lost(self, error: OSError) -> ConnectionLostError:
        return self._broken(error.strerror or str(error) or type(error).__name__)

    def _broken(self, why: str) -> ConnectionLostError:
        return ConnectionLostError(
            f"the connection to {self._about} was lost: {why}",
            "the pod may have ended: see `devctl describe`; else try again",
        )
