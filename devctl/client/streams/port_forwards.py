"""Ports of servers, forwarded to this machine: a listener, and a stream for each connection."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING

from devctl.client.objects import Collection
from devctl.client.streams.pods import running_pod
from devctl.errors import BusyError, DevctlError, HostError, UsageError
from devctl.kube.pod_streams import open_port_forward

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl.kube.pod_streams import PortStream

ADDRESS = "127.0.0.1"
_SIZE = 1 << 16
_PORTS = range(1, 1 << 16)
_LINGER = 30.0
"""Seconds of silence until a connection ends whose client sends nothing more: a client that has
gone looks the same as one that has merely sent everything."""


class Forward(Collection):
    """Brings ports of servers to this machine.

    with client.forward("lab", 8888) as port:
        print(f"http://127.0.0.1:{port.local}")
        port.wait()
    """

    def __call__(
        self,
        name: str,
        port: int,
        local: int = 0,
        *,
        replica: int = 0,
        failed: Callable[[DevctlError], object] = lambda _error: None,
    ) -> ForwardedPort:
        """Listen on this machine's loopback interface, on any free port if none is given.

        `failed` is told, from another thread, why a connection could not be made. BusyError if the
        port here is in use, DevctlError if the server does not run.
        """
        for each in (port, local or port):
            if each not in _PORTS:
                raise UsageError(f"there is no port {each}", "choose one from 1 to 65535")

        def connect() -> PortStream:
            # Servers stop and start: the pod may have changed since the last connection.
            pod = running_pod(self._cluster, name, replica)["metadata"]
            return open_port_forward(self._cluster, pod["name"], port, pod["namespace"])

        running_pod(self._cluster, name, replica)
        return ForwardedPort(port, _listener(local), connect, failed)


class ForwardedPort(AbstractContextManager["ForwardedPort"]):
    """A port of a server and the local one that leads to it, for the length of a `with` block."""

    def __init__(
        self,
        port: int,
        listener: socket.socket,
        connect: Callable[[], PortStream],
        failed: Callable[[DevctlError], object],
    ) -> None:
        """Accept connections from now on."""
        self.port = port
        self.local: int = listener.getsockname()[1]
        self._listener, self._connect, self._failed = listener, connect, failed
        self._closed = threading.Event()
        threading.Thread(target=self._accept, name="port forward", daemon=True).start()

    def __exit__(self, *_error: object) -> None:
        """Accept no more connections; open ones end with the process."""
        self.close()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for some seconds, or until it is closed; whether it is closed."""
        return self._closed.wait(seconds)

    def close(self) -> None:
        """Accept no more connections."""
        self._closed.set()
        # Closing alone would leave the thread in `accept`.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                if self._closed.wait(0.1):
                    return
                continue
            threading.Thread(
                target=self._serve, args=(connection,), name="forwarded connection", daemon=True
            ).start()

    def _serve(self, connection: socket.socket) -> None:
        # With an OSError, the client has gone.
        with connection, suppress(OSError):
            try:
                with self._connect() as stream:
                    join(connection, stream)
            except DevctlError as error:
                self._failed(error)


def join(connection: socket.socket, stream: PortStream) -> None:
    """Copy bytes both ways until the pod ends it, or the client does and silence follows."""
    last, ended = time.monotonic(), threading.Event()

    def send() -> None:
        with suppress(DevctlError, OSError):
            while data := connection.recv(_SIZE):
                stream.write(data)
        since = time.monotonic()
        while (left := max(last, since) + _LINGER - time.monotonic()) > 0:
            if ended.wait(left):
                break
        stream.close()

    threading.Thread(target=send, name="to the pod", daemon=True).start()
    try:
        while data := stream.read():
            last = time.monotonic()
            connection.sendall(data)
    finally:
        ended.set()
        # Wakes the other thread.
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def is_free(port: int) -> bool:
    """Whether a port of this machine is free."""
    try:
        _listener(port).close()
    except DevctlError:
        return False
    return True


def _listener(port: int) -> socket.socket:
    try:
        return socket.create_server((ADDRESS, port))
    except PermissionError as error:
        raise HostError(
            f"only root may use port {port}", f"choose another one: `{port + 8000}:…`"
        ) from error
    except OSError as error:
        raise BusyError(
            f"port {port} of this machine is in use", "choose another one, or 0 for any free one"
        ) from error
