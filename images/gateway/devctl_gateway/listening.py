"""Where the gateway listens: with TLS for the cluster, and without on the loopback interface alone.

`kubectl port-forward` ends at that interface, so what is sent without TLS never leaves the pod.
"""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl_gateway.settings import Settings

LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - a pod's address is known to the node only
DRAIN_SECONDS = 30
"""How long answers that have begun may go on once the gateway is told to end."""
RENEWAL_SECONDS = 60
"""How often it looks for a new certificate."""


class Server(uvicorn.Server):
    """A server that can listen without TLS as well, to the pod itself."""

    def __init__(
        self, config: uvicorn.Config, plain_port: int | None = None, *, shared: bool = False
    ) -> None:
        """Listen as configured, and without TLS at `plain_port` of the loopback interface.

        Args:
            config: uvicorn's.
            plain_port: None for nowhere.
            shared: Whether other processes listen there, too: the kernel deals out connections.
        """
        super().__init__(config)
        self._plain_port, self._shared = plain_port, shared

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        if self._shared and sockets is None:
            sockets = [self._bound(self.config.host, self.config.port)]
        await super().startup(sockets=sockets)
        if self._plain_port is None or not self.started:
            return
        config = self.config

        def protocol() -> asyncio.Protocol:
            # As for its other connections, so that both end alike.
            made: asyncio.Protocol = config.http_protocol_class(  # type: ignore[call-arg]
                config=config, server_state=self.server_state, app_state=self.lifespan.state
            )
            return made

        loop = asyncio.get_running_loop()
        self.servers.append(
            await loop.create_server(protocol, sock=self._bound(LOOPBACK, self._plain_port))
        )

    def _bound(self, host: str, port: int) -> socket.socket:
        return socket.create_server((host, port), reuse_port=self._shared)


def server(app: Callable[..., Any], settings: Settings) -> Server:
    """What serves the app until a signal ends it, with `await` of its method `serve`."""
    shared = settings.processes > 1
    common: dict[str, Any] = {
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": DRAIN_SECONDS,
    }
    if not settings.tls_folder:
        return Server(
            uvicorn.Config(app, host=EVERYWHERE, port=settings.port, **common), shared=shared
        )
    certificate, key = (Path(settings.tls_folder) / name for name in ("tls.crt", "tls.key"))
    config = uvicorn.Config(
        app,
        host=EVERYWHERE,
        port=settings.tls_port,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        timeout_notify=RENEWAL_SECONDS,
        **common,
    )
    config.callback_notify = renewal(config, certificate, key)
    return Server(config, settings.port, shared=shared)


def renewal(config: uvicorn.Config, certificate: Path, key: Path) -> Callable[[], Any]:
    """What has new connections use a certificate that has been replaced."""
    used = certificate.read_bytes()

    async def renew() -> None:
        nonlocal used
        found = certificate.read_bytes()  # noqa: ASYNC240 - small, and in memory
        if found != used and config.ssl is not None:
            config.ssl.load_cert_chain(certificate, key)
            used = found

    return renew
