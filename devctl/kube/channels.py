"""WebSockets to the streams of pods."""

from __future__ import annotations

import socket
import ssl
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Self
from urllib.parse import urlencode

import httpcore2
import httpx2

from devctl.kube import resources
from devctl.kube.failures import explained, parse_status, refusal
from devctl.kube.serial_tls import SerialTls, TlsInTls
from devctl.kube.websocket import Handshake, WebSocket

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.kube.cluster import Cluster

_SWITCHED = 101
_CHUNK, _LONGEST_BODY = 64 * 1024, 256 * 1024


class PodStream:
    """Channels to a pod; one thread may read while another writes. `about` names it in errors."""

    def __init__(self, socket: WebSocket, about: str) -> None:
        """Take over a connection."""
        self._socket = socket
        self._about = about

    def __enter__(self) -> Self:
        """Use it."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the connection; any thread may, more than once."""
        self._socket.close()

    def _send(self, channel: int, data: bytes) -> None:
        view = memoryview(data)
        for begin in range(0, len(view), _CHUNK):
            self._socket.send(bytes([channel]), view[begin : begin + _CHUNK])


def connect_pod(  # noqa: PLR0913, PLR0917 - a request's parts
    cluster: Cluster,
    pod: str,
    stream: str,
    query: Sequence[tuple[str, str]],
    protocols: Sequence[str],
    namespace: str | None = None,
) -> WebSocket:
    """Open a stream of a pod, such as exec or portforward, with one of some protocols.

    Raises:
        NotFoundError: There is no such pod.
        DeniedError: The user lacks the right.
        WaitTimeoutError: The answer took too long.
        DevctlError: The connection failed.
    """
    path = resources.Pod.path(namespace or cluster.namespace, pod)
    # Arguments may hold bytes that are not text.
    target = f"{path}/{stream}?{urlencode(query, errors='surrogateescape')}"
    handshake = Handshake(protocols)
    with explained(cluster.route):
        answer = cluster.upgrade(target, handshake.headers)
        with ExitStack() as undo:
            undo.callback(answer.close)
            _check(answer)
            handshake.take(answer.headers.raw)
            found = _take_over(answer, handshake, f"pod `{pod}`")
            undo.pop_all()
            return found


def _check(answer: httpx2.Response) -> None:
    if answer.status_code == _SWITCHED:
        return
    body = bytearray()
    with suppress(httpx2.TransportError):
        for piece in answer.iter_bytes():
            body += piece
            if len(body) > _LONGEST_BODY:
                break
    # What has arrived of it says enough.
    raise refusal(parse_status(answer.status_code, bytes(body)))


def _take_over(answer: httpx2.Response, handshake: Handshake, about: str) -> WebSocket:
    stream = answer.extensions["network_stream"]
    try:
        # What came right behind the answer; nothing is waited for.
        leftover: bytes = stream.read(_CHUNK, timeout=0)
    except httpcore2.ReadError:
        leftover = b""
    connection: socket.socket = stream.get_extra_info("socket")
    _notice_death(connection)
    tls = stream.get_extra_info("ssl_object")
    inside = None
    if isinstance(connection, ssl.SSLSocket) and isinstance(tls, ssl.SSLObject):
        inside = TlsInTls(tls, connection)
    serial = SerialTls(connection, answer.close, inside)
    return WebSocket(serial, handshake.protocol, about, leftover)


def _notice_death(connection: socket.socket) -> None:
    """Have the kernel check an idle connection."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4)):
        if option := getattr(socket, name, None):
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
