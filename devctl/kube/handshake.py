"""How a WebSocket begins: a TCP connection, TLS, and a request that HTTP ends with."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from devctl.errors import DevctlError
from devctl.kube.serial_tls import SerialTls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.kube.credentials import Credentials

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONNECT, _ANSWER = 5.0, 30.0
"""Seconds for the connection, and for the answer: a container may be slow to start a command."""
_LONGEST_HEAD, _LONGEST_BODY = 64 * 1024, 256 * 1024
_SWITCHED = 101
_TOO_OLD = "it needs Kubernetes 1.30 or newer"


class RefusedError(Exception):
    """The server answered with something else than a WebSocket."""

    def __init__(self, code: int, body: bytes) -> None:
        """Keep the answer."""
        super().__init__(f"HTTP {code}")
        self.code = code
        self.body = body


class _Answer(NamedTuple):
    code: int
    headers: dict[str, str]
    rest: bytes


def shake_hands(
    url: str, credentials: Credentials, protocols: Sequence[str]
) -> tuple[SerialTls, bytes]:
    """Open a WebSocket.

    Args:
        url: Where; http or https.
        credentials: TLS, and the headers that say who asks.
        protocols: What is spoken over it, one of them.

    Returns:
        The connection, and what has come over it already.

    Raises:
        RefusedError: The server answered with an error.
        DevctlError: It speaks none of the protocols.
        OSError: There is no connection.
    """
    parts = urlsplit(url)
    connection = _connect(parts.hostname or "", parts.port, credentials)
    try:
        key = base64.b64encode(os.urandom(16)).decode()
        connection.sendall(_request(url, key, credentials, protocols))
        answer = _read_head(connection)
        _check(connection, answer, key, protocols)
    except BaseException:
        connection.close()
        raise
    return SerialTls(connection), answer.rest


def _connect(host: str, port: int | None, credentials: Credentials) -> socket.socket:
    tls = credentials.tls
    plain = socket.create_connection((host, port or (443 if tls else 80)), _CONNECT)
    try:
        plain.settimeout(_ANSWER)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _notice_death(plain)
        if tls is None:
            return plain
        return tls.wrap_socket(plain, server_hostname=credentials.server_name or host)
    except BaseException:
        plain.close()
        raise


def _notice_death(connection: socket.socket) -> None:
    """Have the kernel ask whether the other side is there, also while nothing is said."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4)):
        if option := getattr(socket, name, None):  # not all systems have them all
            connection.setsockopt(socket.IPPROTO_TCP, option, value)


def _request(url: str, key: str, credentials: Credentials, protocols: Sequence[str]) -> bytes:
    parts = urlsplit(url)
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    headers = [
        ("Host", parts.netloc),
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", key),
        ("Sec-WebSocket-Protocol", ", ".join(protocols)),
        *credentials.headers,
    ]
    lines = [f"GET {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    if any(not line.isprintable() for line in lines):
        raise DevctlError(
            "the credentials in the kubeconfig hold a line break", "get a new kubeconfig"
        )
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _read_head(connection: socket.socket) -> _Answer:
    data = bytearray()
    while (end := data.find(b"\r\n\r\n")) < 0:
        piece = connection.recv(_LONGEST_HEAD)
        if not piece or len(data) > _LONGEST_HEAD:
            raise ConnectionResetError("it ended instead of an answer")
        data += piece
    status, *lines = bytes(data[:end]).decode("latin-1").split("\r\n")
    words = status.split(" ", 2)
    if not words[0].startswith("HTTP/1.") or len(words) < 2 or not words[1].isdigit():  # noqa: PLR2004
        raise ConnectionResetError("the answer is not HTTP")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return _Answer(int(words[1]), headers, bytes(data[end + 4 :]))


def _read_body(connection: socket.socket, answer: _Answer) -> bytes:
    """What an error says; as much of it as comes."""
    body = bytearray(answer.rest)
    length = answer.headers.get("content-length", "")
    wanted = min(int(length) if length.isdigit() else _LONGEST_BODY, _LONGEST_BODY)
    chunked = answer.headers.get("transfer-encoding", "").lower() == "chunked"
    try:
        while len(body) < wanted and not (chunked and body.endswith(b"0\r\n\r\n")):
            piece = connection.recv(_LONGEST_BODY)
            if not piece:
                break
            body += piece
    except OSError:
        pass  # what has come says enough
    return _unchunked(bytes(body)) if chunked else bytes(body)


def _unchunked(body: bytes) -> bytes:
    parts: list[bytes] = []
    while body:
        size, found, rest = body.partition(b"\r\n")
        try:
            count = int(size.split(b";")[0], 16)
        except ValueError:
            break
        if not found or not count:
            break
        parts.append(rest[:count])
        body = rest[count + 2 :]
    return b"".join(parts)


def _check(connection: socket.socket, answer: _Answer, key: str, protocols: Sequence[str]) -> None:
    if answer.code != _SWITCHED:
        raise RefusedError(answer.code, _read_body(connection, answer))
    digest = hashlib.sha1((key + _GUID).encode(), usedforsecurity=False).digest()
    if answer.headers.get("sec-websocket-accept") != base64.b64encode(digest).decode():
        raise ConnectionResetError("something between here and the API server breaks WebSockets")
    chosen = answer.headers.get("sec-websocket-protocol", "")
    if chosen not in protocols:
        raise DevctlError(
            f"the cluster offers no streams that devctl understands: {chosen or 'none'}", _TOO_OLD
        )
