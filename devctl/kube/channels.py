"""A WebSocket to one of the streams that a pod has."""

from __future__ import annotations

import socket
import ssl
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING
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

__all__ = ["connect_pod"]

_SWITCHED = 101
_CHUNK, _LONGEST_BODY = 64 * 1024, 256 * 1024


def connect_pod(  # noqa: PLR0913, PLR0917 - a request's parts
    cluster: Cluster,
    pod: str,
    stream: str,
    query: Sequence[tuple[str, str]],
    protocols: Sequence[str],
    namespace: str | None = None,
) -> WebSocket:
    """Open one of a pod's streams.

    Args:
        cluster: Where the pod is.
        pod: Its name.
        stream: Which: exec or portforward.
        query: What of it.
        protocols: What is spoken over it, one of them.
        namespace: The pod's namespace; else the user's.

    Raises:
        NotFoundError: There is no such pod.
        DeniedError: The user may not.
        WaitTimeoutError: No answer came in time.
        DevctlError: There is no connection.
    """
    path = resources.Pod.path(namespace or cluster.namespace, pod)
    # Arguments may hold bytes that are no text: they travel as they are.
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
    # As much of it as has come says enough.
    raise refusal(parse_status(answer.status_code, bytes(body)))


def _take_over(answer: httpx2.Response, handshake: Handshake, about: str) -> WebSocket:
    stream = answer.extensions["network_stream"]
    try:
        # What has come behind the answer is there; nothing else is waited for.
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
    """Have the kernel ask whether the other side is there, also while nothing is said."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4)):
        if option := getattr(socket, name, None):  # not all systems have them all
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
