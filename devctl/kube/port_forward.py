"""A connection to a port inside a pod, over one WebSocket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from devctl.errors import ConnectionLostError, DevctlError
from devctl.kube.channels import connect_pod
from devctl.kube.failures import one_line

if TYPE_CHECKING:
    from types import TracebackType

    from devctl.kube.cluster import Cluster
    from devctl.kube.websocket import WebSocket

__all__ = ["ConnectionLostError", "PortStream", "open_port_forward"]

DATA, ERROR = 0, 1
_PROTOCOL = "v4.channel.k8s.io"
_LARGEST = 64 * 1024
_PORT_BYTES = 2
_LINGER = 1.0
"""Seconds in which the last bytes may arrive: many programs send and end at once."""


class PortStream:
    r"""One connection to a port of a pod; one thread may read while another writes.

    with open_port_forward(cluster, "my-server-0", 8888) as stream:
        stream.write(b"GET / HTTP/1.0\r\n\r\n")
        while data := stream.read():
            ...
    """

    def __init__(self, socket: WebSocket, about: str) -> None:
        """Take over a connection; `about` says in errors what is reached."""
        self._socket = socket
        self._about = about
        self._greeted: set[int] = set()

    def __enter__(self) -> Self:
        """Nothing more to do: it is open."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Hang up."""
        self.close()

    def write(self, data: bytes) -> None:
        """Send bytes; waits while the other side takes none.

        Raises:
            ConnectionLostError: Nobody is there any more.
        """
        view = memoryview(data)
        for begin in range(0, len(view), _LARGEST):
            self._socket.send(bytes([DATA]), view[begin : begin + _LARGEST])

    def read(self) -> bytes:
        """The next bytes; empty when the other side has ended the connection.

        Raises:
            ConnectionLostError: The connection to the cluster has ended.
            DevctlError: Nothing listens on that port.
        """
        while (message := self._socket.receive()) is not None:
            if not message:
                continue
            channel, data = message[0], message[1:]
            if channel not in self._greeted:
                # Both channels begin with the port's number, in two bytes.
                self._greeted.add(channel)
                data = data[_PORT_BYTES:]
            if channel == ERROR and data:
                raise self._refused(one_line(data.decode(errors="replace")))
            if channel == DATA and data:
                return data
        return b""

    def close(self) -> None:
        """Hang up; from any thread, and more than once."""
        self._socket.close(_LINGER)

    def _refused(self, said: str) -> DevctlError:
        if "onnection refused" in said:
            return DevctlError(
                f"nothing listens on {self._about}", "start the program there, or check the port"
            )
        return DevctlError(f"{self._about} cannot be reached: {said}", "see `devctl describe`")


def open_port_forward(
    cluster: Cluster, pod: str, port: int, namespace: str | None = None
) -> PortStream:
    """Open one connection to a port of a pod.

    The protocol has no way to end one direction only: who closes ends both.

    Args:
        cluster: Where the pod is.
        pod: Its name.
        port: The port, on the pod's own loopback address.
        namespace: The pod's namespace; else the user's.

    Raises:
        NotFoundError: There is no such pod.
        DeniedError: The user may not forward its ports.
        ConnectionLostError: There is no connection.
    """
    query = [("ports", str(port))]
    socket = connect_pod(cluster, pod, "portforward", query, [_PROTOCOL], namespace)
    return PortStream(socket, f"port {port} of pod `{pod}`")
