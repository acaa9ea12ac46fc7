"""Streams of a pod over WebSockets: commands in its containers, and connections to its ports."""

from __future__ import annotations

import json
import socket
import ssl
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlencode

import httpcore2
import httpx2

from devctl.errors import ConnectionLostError, DevctlError
from devctl.kube import resources
from devctl.kube.failures import explained, one_line, parse_status, refusal
from devctl.kube.serial_tls import SerialTls, TlsInTls
from devctl.kube.websocket import Handshake, WebSocket

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from devctl.kube.cluster import Cluster

CONTAINER = "server"
"""The container of a server's pod in which people work."""
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
_EXEC_PROTOCOL = "v5.channel.k8s.io"
_NOT_RUNNING = ("container not found", "not running", "in a stopped state")
_DATA, _PORT_ERROR = 0, 1
_PORT_PROTOCOL = "v4.channel.k8s.io"
_PORT_BYTES = 2
_SWITCHED = 101
_CHUNK, _LONGEST_BODY = 64 * 1024, 256 * 1024


class PodStream:
    """Channels to a pod; one thread may read while another writes.

    Both get a ConnectionLostError if the connection was lost or closed.
    """

    _linger = 0.0
    """Seconds for the last bytes to arrive."""

    def __init__(self, socket: WebSocket, about: str) -> None:
        """Take over a connection; `about` names its other end in errors."""
        self._socket = socket
        self._about = about

    def __enter__(self) -> Self:
        """Use it."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it."""
        self.close()

    def write(self, data: bytes) -> None:
        """Send bytes; blocks while the other side does not read."""
        view = memoryview(data)
        for begin in range(0, len(view), _CHUNK):
            self._socket.send(bytes([STDIN]), view[begin : begin + _CHUNK])

    def close(self) -> None:
        """Close the connection; any thread may, more than once."""
        self._socket.close(self._linger)


class ExecStream(PodStream):
    """A running command; one thread may read while another writes.

    with open_exec(cluster, "my-server-0", ["cat"], stdin=True) as stream:
        stream.write(b"hello")
        stream.close_stdin()
        for channel, data in stream.read():
            ...
    stream.exit_code
    """

    _exit_code: int | None = None
    _input_open = True

    @property
    def exit_code(self) -> int:
        """The command's exit code, after `read` has seen its end."""
        if self._exit_code is None:
            raise self._socket.lost("it has not ended")
        return self._exit_code

    def close_stdin(self) -> None:
        """End the command's input; a second call does nothing."""
        if self._input_open:
            self._input_open = False
            self._socket.send(bytes([CLOSE, STDIN]))

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the command's terminal."""
        size = json.dumps({"Width": columns, "Height": rows}).encode()
        self._socket.send(bytes([RESIZE]), size)

    def read(self) -> Iterator[tuple[int, bytes]]:
        """The command's output as (STDOUT or STDERR, bytes), until it ends.

        Raises:
            DevctlError: The command could not be started.
        """
        while (message := self._socket.receive()) is not None:
            if len(message) <= 1:
                continue  # each channel is opened with an empty message
            channel = message[0]
            if channel == ERROR:
                self._exit_code = self._end(bytes(message[1:]))
                return
            yield channel, message[1:]
        raise self._socket.lost("it was closed")

    def _end(self, body: bytes) -> int:
        try:
            status: dict[str, Any] = json.loads(body)
        except ValueError as error:
            raise DevctlError(
                f"{self._about} ended with a status that devctl does not understand: "
                f"{one_line(body.decode(errors='replace'))}",
                "repeat the command; see `devctl doctor`",
            ) from error
        if status.get("status") == "Success":
            return 0
        if status.get("reason") == "NonZeroExitCode":
            for cause in (status.get("details") or {}).get("causes") or []:
                if cause.get("reason") == "ExitCode":
                    return int(cause["message"])
        raise _not_started(self._about, status)


def open_exec(  # noqa: PLR0913 - each is a choice of the caller
    cluster: Cluster,
    pod: str,
    argv: Sequence[str],
    namespace: str | None = None,
    *,
    container: str = CONTAINER,
    stdin: bool = False,
    tty: bool = False,
) -> ExecStream:
    """Start a command in a container of a pod, without a shell.

    Its input is empty without `stdin`; with `tty`, its two outputs are one.

    Raises:
        NotFoundError: There is no such pod.
        DeniedError: The user may not run commands in it.
        ConnectionLostError: The connection failed.
    """
    query = [
        ("container", container),
        ("stdin", str(stdin).lower()),
        ("stdout", "true"),
        ("stderr", str(not tty).lower()),
        ("tty", str(tty).lower()),
        *(("command", word) for word in argv),
    ]
    opened = _connect(cluster, pod, namespace, "exec", query, _EXEC_PROTOCOL)
    return ExecStream(opened, f"pod `{pod}`")


def _not_started(about: str, status: dict[str, Any]) -> DevctlError:
    """The error for a command without an exit code."""
    said = one_line(str(status.get("message") or status.get("reason") or "no reason given"))
    _, begun, why = said.rpartition("unable to start container process: ")
    if begun:
        missing = "executable file not found" in why or "no such file" in why
        if why.startswith("exec"):
            error = DevctlError(
                f"{about} cannot run that: {why.removeprefix('exec: ')}",
                "check its spelling, or install it there" if missing else "name a program there",
            )
        else:  # the container runtime failed before the program
            error = DevctlError(f"{about} could not start it: {why}", "repeat the command")
        error.exit_code = 127 if missing else 126  # like a shell
        return error
    if any(words in said for words in _NOT_RUNNING):
        return ConnectionLostError(
            f"{about} does not run: {said}", "see `devctl describe` for why, or start it"
        )
    if status.get("code"):
        return refusal(status)
    return DevctlError(f"{about}: {said}", "see `devctl describe`")


class PortStream(PodStream):
    r"""One connection to a port of a pod; one thread may read while another writes.

    with open_port_forward(cluster, "my-server-0", 8888) as stream:
        stream.write(b"GET / HTTP/1.0\r\n\r\n")
        while data := stream.read():
            ...
    """

    _linger = 1.0  # many programs send and exit at once
    _greeted: frozenset[int] = frozenset()
    """Channels that have sent their first message."""

    def read(self) -> bytes:
        """The next bytes; empty after the other side has closed the connection.

        Raises:
            DevctlError: Nothing listens on that port.
        """
        while (message := self._socket.receive()) is not None:
            if not message:
                continue
            channel, data = message[0], message[1:]
            if channel not in self._greeted:
                # Both channels start with the port's number, in two bytes.
                self._greeted |= {channel}
                data = data[_PORT_BYTES:]
            if channel == _PORT_ERROR and data:
                raise self._refused(one_line(data.decode(errors="replace")))
            if channel == _DATA and data:
                return data
        return b""

    def _refused(self, said: str) -> DevctlError:
        if "onnection refused" in said:
            return DevctlError(
                f"nothing listens on {self._about}", "start the program there, or check the port"
            )
        return DevctlError(f"{self._about} cannot be reached: {said}", "see `devctl describe`")


def open_port_forward(
    cluster: Cluster, pod: str, port: int, namespace: str | None = None
) -> PortStream:
    """Connect to a port on a pod's loopback address; the protocol has no half-closed state.

    Raises:
        NotFoundError: There is no such pod.
        DeniedError: The user may not forward its ports.
        ConnectionLostError: The connection failed.
    """
    query = [("ports", str(port))]
    opened = _connect(cluster, pod, namespace, "portforward", query, _PORT_PROTOCOL)
    return PortStream(opened, f"port {port} of pod `{pod}`")


def _connect(  # noqa: PLR0913, PLR0917 - a request's parts
    cluster: Cluster,
    pod: str,
    namespace: str | None,
    stream: str,
    query: Sequence[tuple[str, str]],
    protocol: str,
) -> WebSocket:
    path = resources.Pod.path(namespace or cluster.namespace, pod)
    # Arguments may hold bytes that are not text.
    target = f"{path}/{stream}?{urlencode(query, errors='surrogateescape')}"
    handshake = Handshake([protocol])
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
    # The part that has arrived is enough.
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
