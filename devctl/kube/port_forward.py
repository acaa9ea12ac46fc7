"""A connection to a port inside a pod, over a WebSocket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.errors import DevctlError
from devctl.kube.channels import PodStream, connect_pod
from devctl.kube.failures import one_line

if TYPE_CHECKING:
    from devctl.kube.cluster import Cluster
    from devctl.kube.websocket import WebSocket

DATA, ERROR = 0, 1
_PROTOCOL = "v4.channel.k8s.io"
_PORT_BYTES = 2
_LINGER = 1.0
"""Seconds for the last bytes to arrive, as many programs send and exit at once."""


class PortStream(PodStream):
    r"""One connection to a port of a pod; one thread may read while another writes.

    with open_port_forward(cluster, "my-server-0", 8888) as stream:
        stream.write(b"GET / HTTP/1.0\r\n\r\n")
        while data := stream.read():
            ...
    """

    def __init__(self, socket: WebSocket, about: str) -> None:
        """Take over a connection."""
        super().__init__(socket, about)
        self._greeted: set[int] = set()

    def write(self, data: bytes) -> None:
        """Send bytes; blocks while the other side does not read.

        Raises:
            ConnectionLostError: The connection is closed.
        """
        self._send(DATA, data)

    def read(self) -> bytes:
        """The next bytes; empty after the other side has closed the connection.

        Raises:
            ConnectionLostError: The connection to the cluster was lost.
            DevctlError: Nothing listens on that port.
        """
        while (message := self._socket.receive()) is not None:
            if not message:
                continue
            channel, data = message[0], message[1:]
            if channel not in self._greeted:
                # Both channels start with the port's number, in two bytes.
                self._greeted.add(channel)
                data = data[_PORT_BYTES:]
            if channel == ERROR and data:
                raise self._refused(one_line(data.decode(errors="replace")))
            if channel == DATA and data:
                return data
        return b""

    def close(self) -> None:
        """Close the connection; any thread may, more than once."""
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
    """Connect to a port on a pod's loopback address; the protocol has no half-closed state.

    Raises:
        NotFoundError: There is no such pod.
        DeniedError: The user may not forward its ports.
        ConnectionLostError: The connection failed.
    """
    query = [("ports", str(port))]
    socket = connect_pod(cluster, pod, "portforward", query, [_PROTOCOL], namespace)
    return PortStream(socket, f"port {port} of pod `{pod}`")
