"""The plugin's two sockets: one on which it registers, one on which it works."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc

from devctl_dra_plugin import messages
from devctl_dra_plugin.names import DRIVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from devctl_dra_plugin.claims import Claims
    from devctl_dra_plugin.health import Board

log = logging.getLogger(__name__)

_THREADS = 8
"""One follows health; what the kubelet prepares waits for the API server now and then."""
_GRACE = 3.0


class Sockets(NamedTuple):
    """Where the kubelet finds the plugin."""

    plugin: Path
    registration: Path

    @classmethod
    def of_kubelet(cls, kubelet: Path) -> Sockets:
        """The ones that its API defines, in its folder."""
        return cls(
            kubelet / "plugins" / DRIVER / "dra.sock",
            kubelet / "plugins_registry" / f"{DRIVER}-reg.sock",
        )

    def exist(self) -> bool:
        """Whether the kubelet can still find it."""
        return all(each.is_socket() for each in self)


class Server:
    """Serves until it is stopped.

    Args:
        sockets: Where.
        claims: Prepares and unprepares.
        board: The devices' health.
        registered: Called when the kubelet has taken the plugin, again after its restarts.
    """

    def __init__(
        self, sockets: Sockets, claims: Claims, board: Board, registered: Callable[[], None]
    ) -> None:
        """Serve nothing yet."""
        self._sockets, self._claims, self._board = sockets, claims, board
        self._registered = registered
        self._servers: list[Any] = []

    def start(self) -> None:
        """Serve; the kubelet registers the plugin as soon as it sees the second socket.

        Raises:
            RuntimeError: A socket cannot be made.
        """
        self._sockets.plugin.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        self._serve(self._sockets.plugin, _THREADS, self._plugin_services())
        self._serve(self._sockets.registration, 1, [self._registration_service()])

    def stop(self) -> None:
        """Let the kubelet go; it removes the node's slice unless the plugin is back soon."""
        self._board.close()
        for server in reversed(self._servers):
            server.stop(_GRACE).wait()
        for path in reversed(self._sockets):
            path.unlink(missing_ok=True)

    def _serve(self, path: Path, threads: int, services: list[Any]) -> None:
        # What a killed predecessor has left: the kubelet sees the new one appear.
        path.unlink(missing_ok=True)
        server = grpc.server(ThreadPoolExecutor(threads))
        server.add_generic_rpc_handlers(services)
        server.add_insecure_port(f"unix:{path}")
        server.start()
        self._servers.append(server)

    def _registration_service(self) -> Any:
        def info(_request: bytes, _context: Any) -> bytes:
            return messages.plugin_info(DRIVER, str(self._sockets.plugin))

        def status(request: bytes, _context: Any) -> bytes:
            problem = messages.registration_status(request)
            if problem is None:
                log.info("registered with the kubelet")
                self._registered()
            else:
                log.error("the kubelet refused the plugin: %s", problem)
            return b""

        methods = {"GetInfo": _method(info), "NotifyRegistrationStatus": _method(status)}
        return grpc.method_handlers_generic_handler(messages.REGISTRATION, methods)

    def _plugin_services(self) -> list[Any]:
        def prepare(request: bytes, context: Any) -> bytes:
            wanted = messages.claims(request)
            return messages.prepared(self._claims.prepare(wanted, context.is_active))

        def unprepare(request: bytes, _context: Any) -> bytes:
            return messages.unprepared(self._claims.unprepare(messages.claims(request)))

        def watch(_request: bytes, context: Any) -> Iterator[bytes]:
            return map(messages.device_healths, self._board.watch(context.is_active))

        work = {
            "NodePrepareResources": _method(prepare),
            "NodeUnprepareResources": _method(unprepare),
        }
        health = {"NodeWatchResources": grpc.unary_stream_rpc_method_handler(watch)}
        return [
            grpc.method_handlers_generic_handler(messages.PLUGIN, work),
            grpc.method_handlers_generic_handler(messages.HEALTH, health),
        ]


def _method(function: Callable[[bytes, Any], bytes]) -> Any:
    """A method that takes and gives bytes, as messages makes them."""
    return grpc.unary_unary_rpc_method_handler(function)
