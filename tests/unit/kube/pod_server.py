"""An API server, as far as streams are concerned: TLS, HTTP's upgrade, frames."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from websockets.utils import apply_mask

from devctl.kube.cluster import Cluster
from devctl.kube.kubeconfig import Access
from unit.kube.certificates import in_base64
from unit.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from unit.kube.certificates import Certificates

EXEC, PORT_FORWARD = "v5.channel.k8s.io", "v4.channel.k8s.io"
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Conversation:
    """One connection of a client."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._buffer = b""
        while b"\r\n\r\n" not in self._buffer:
            self._buffer += connection.recv(65536) or b"\r\n\r\n"
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        self.target = first.split(" ")[1] if first else ""
        self.path = urlsplit(self.target).path
        self.query = parse_qsl(
            urlsplit(self.target).query, keep_blank_values=True, errors="surrogateescape"
        )
        self.headers = [tuple(line.split(": ", 1)) for line in lines]

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")

    def answer(self, code: int, body: bytes = b"", *headers: str) -> None:
        """Answer with something else than a WebSocket."""
        lines = [f"HTTP/1.1 {code} Something", *headers, "", ""]
        self.connection.sendall("\r\n".join(lines).encode() + body)

    def refuse(self, code: int, **status: Any) -> None:
        body = json.dumps({"kind": "Status", "code": code, **status}).encode()
        self.answer(code, body, f"Content-Length: {len(body)}")

    def accept(self, protocol: str, behind: bytes = b"", *, key: str = "") -> None:
        digest = hashlib.sha1((key or self.header("Sec-WebSocket-Key")).encode() + _GUID)  # noqa: S324
        self.answer(
            101,
            behind,
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Accept: {base64.b64encode(digest.digest()).decode()}",
            f"Sec-WebSocket-Protocol: {protocol}",
        )

    def send(self, channel: int, data: bytes = b"") -> None:
        self.connection.sendall(server_frame(2, bytes([channel]) + data))

    def status(self, **status: Any) -> None:
        self.send(3, json.dumps(status).encode())

    def exit(self, code: int) -> None:
        """How Kubernetes tells the end of a command."""
        if not code:
            self.status(status="Success")
        else:
            causes = [{"reason": "ExitCode", "message": str(code)}]
            details = {"causes": causes}
            self.status(status="Failure", reason="NonZeroExitCode", details=details)
        self.connection.sendall(server_frame(8, (1000).to_bytes(2)))

    def frame(self) -> tuple[int, bytes]:
        """The next frame of the client, unmasked."""
        first, second = self._take(2)
        assert second & 0x80, "a client's frames are masked"
        size = second & 0x7F
        if size >= 126:
            size = int.from_bytes(self._take(2 if size == 126 else 8))
        key = self._take(4)
        return first & 0x0F, apply_mask(self._take(size), key)

    def message(self) -> bytes:
        """The client's next message; empty when it hangs up."""
        while True:
            kind, payload = self.frame()
            if kind in {2, 8}:
                return payload if kind == 2 else b""

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            piece = self.connection.recv(65536)
            if not piece:
                raise EOFError
            self._buffer += piece
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken


def server_frame(kind: int, payload: bytes, *, final: bool = True) -> bytes:
    """A frame as servers send it: not masked."""
    size = len(payload)
    first = bytes([(0x80 if final else 0) | kind])
    if size < 126:
        return first + bytes([size]) + payload
    if size < 1 << 16:
        return first + bytes([126]) + size.to_bytes(2) + payload
    return first + bytes([127]) + size.to_bytes(8) + payload


@contextmanager
def pod_server(
    certificates: Certificates | None, *scripts: Callable[[Conversation], None], **user: Any
) -> Iterator[Cluster]:
    """A cluster that plays one script a connection, with TLS where there are certificates.

    What a script raises is raised in the test when it ends.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    failures: list[BaseException] = []

    def serve() -> None:
        try:
            for script in scripts:
                connection, _ = listener.accept()
                with connection:
                    try:
                        secured = _secured(connection, certificates)
                    except (ssl.SSLError, ConnectionError):
                        continue  # the client does not trust us
                    with secured:
                        script(Conversation(secured))
        except BaseException as error:  # noqa: BLE001 - it is raised in the test
            failures.append(error)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    scheme = "https" if certificates else "http"
    authority = (
        {"certificate-authority-data": in_base64(certificates.authority)} if certificates else {}
    )
    access = Access(
        server=f"{scheme}://127.0.0.1:{listener.getsockname()[1]}",
        namespace="team",
        cluster=authority,
        user=user,
    )
    try:
        yield Cluster(access)
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the script has not ended"
    finally:
        with suppress(OSError):
            # Wakes the thread, which close alone would not.
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
    if failures:
        raise failures[0]


def _secured(connection: socket.socket, certificates: Certificates | None) -> socket.socket:
    if certificates is None:
        return connection
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server, certificates.server_key)
    context.load_verify_locations(certificates.authority)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context.wrap_socket(connection, server_side=True)
