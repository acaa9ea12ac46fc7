"""A port of a server's pod, on this machine: a listener, and a stream for each connection."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from devctl.client.streams.exec_pod import running_pod
from devctl.errors import BusyError, DevctlError, HostError, UsageError
from devctl.kube.pod_streams import open_port_forward

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from devctl.kube.cluster import Cluster
    from devctl.kube.pod_streams import PortStream

ADDRESS = "127.0.0.1"
_SIZE = 1 << 16
_PORTS = range(1, 1 << 16)
_LINGER = 30.0
"""Seconds of silence after which a connection ends whose client sends nothing more: a client that
has gone looks the same as one that has only said all it had to say."""


class Forward:
    """Brings ports of servers to this machine.

    with client.forward("lab", 8888) as port:
        print(f"http://127.0.0.1:{port.local}")
        port.wait()
    """

    def __init__(self, cluster: Cluster) -> None:
        """Ask nothing yet."""
        self._cluster = cluster

    def __call__(
        self,
        name: str,
        port: int,
        local: int = 0,
        *,
        replica: int = 0,
        failed: Callable[[DevctlError], object] = lambda _error: None,
    ) -> ForwardedPort:
        """Listen on this machine; nobody else's can reach it.

        Args:
            name: The server.
            port: Its port.
            local: The one here; 0 for one that is free.
            replica: Which of the server's pods, from 0.
            failed: Told why a connection could not be made, from another thread.

        Raises:
            BusyError: The port here is in use.
            DevctlError: The server does not run.
        """
        if port not in _PORTS or (local and local not in _PORTS):
            raise UsageError(
                f"there is no port {local if port in _PORTS else port}", "name 1-65535"
            )
        running_pod(self._cluster, name, replica)
        return ForwardedPort(self._cluster, name, replica, port, _listener(local), failed)


class ForwardedPort:
    """A port here that leads to one of a server, for as long as a `with` block lasts.

    Attributes:
        local: The port here.
        port: The server's.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - made by Forward alone
        self,
        cluster: Cluster,
        name: str,
        replica: int,
        port: int,
        listener: socket.socket,
        failed: Callable[[DevctlError], object],
    ) -> None:
        """Take connections from now on."""
        self.port = port
        self.local: int = listener.getsockname()[1]
        self._cluster, self._name, self._replica = cluster, name, replica
        self._listener, self._failed = listener, failed
        self._closed = threading.Event()
        self._accepting = threading.Thread(target=self._accept, name="port forward", daemon=True)
        self._accepting.start()

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take no more connections; those that are open end with the process."""
        self.close()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is closed, or for some seconds; whether it is closed."""
        return self._closed.wait(seconds)

    def close(self) -> None:
        """Take no more connections."""
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
        with connection:
            try:
                # The pod may be another one than a moment ago: servers stop and start.
                pod = running_pod(self._cluster, self._name, self._replica)["metadata"]
                with open_port_forward(
                    self._cluster, pod["name"], self.port, pod["namespace"]
                ) as stream:
                    join(connection, stream)
            except DevctlError as error:
                self._failed(error)
            except OSError:
                # The client has gone.
                pass


def join(connection: socket.socket, stream: PortStream) -> None:
    """Carry bytes both ways until the pod ends it, or the client does and nothing more comes."""
    silence = _Silence()

    def send() -> None:
        with suppress(DevctlError, OSError):
            while data := connection.recv(_SIZE):
                stream.write(data)
        silence.wait(_LINGER)
        stream.close()

    threading.Thread(target=send, name="to the pod", daemon=True).start()
    try:
        while data := stream.read():
            silence.broken()
            connection.sendall(data)
    finally:
        silence.end()
        # Wakes the other thread.
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


class _Silence:
    """How long nothing has come."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._last = time.monotonic()

    def broken(self) -> None:
        """Something has come."""
        self._last = time.monotonic()

    def end(self) -> None:
        """Nothing more will come."""
        self._ended.set()

    def wait(self, seconds: float) -> None:
        """Wait until nothing has come for some seconds, or nothing more will."""
        since = time.monotonic()
        while True:
            left = max(self._last, since) + seconds - time.monotonic()
            if left <= 0 or self._ended.wait(left):
                return


def is_free(port: int) -> bool:
    """Whether a port of this machine can be had."""
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
            f"port {port} may be used by root only", f"choose another one: `{port + 8000}:…`"
        ) from error
    except OSError as error:
        raise BusyError(
            f"port {port} of this machine is in use", "name another one, or 0 for any that is free"
        ) from error
