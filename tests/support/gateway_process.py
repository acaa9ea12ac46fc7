"""The gateway's own program beside a plane, with the rights that it has in a cluster."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx2
from support.gateway_app import claims, identity_file, signed
from support.plane.process import Process
from support.servers import wait_until

from devctl.api.gpu_worker_job import NAMESPACE
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

    from support.plane.plane import Plane

ACCOUNT = "gpu-workers-gateway"
CONFIG = REPOSITORY / "config" / "gateway"
_FIGURES = "PROMETHEUS_MULTIPROC_DIR"
USERS = {"ada": (), "bob": (), "eve": (), "keeper": ("gpu-operators",), "boss": ("gpu-admins",)}
"""Who there is, and in which groups."""


class GatewayProcess:
    """One replica.

    Args:
        plane: Its cluster.
        folder: Its own files.
        database: SQLAlchemy's URL.
        python: One that has what the gateway needs.
        settings: Further ones, by the names of attributes of Settings.
    """

    def __init__(
        self,
        plane: Plane,
        folder: Path,
        database: str,
        python: str | Path = sys.executable,
        **settings: Any,
    ) -> None:
        """Start nothing yet."""
        folder.mkdir(exist_ok=True)
        self.port = free_port()
        own = {
            "database": database,
            "identity_file": identity_file(folder),
            "kubeconfig": str(plane.account(ACCOUNT, NAMESPACE)),
            "port": self.port,
            "heartbeat_seconds": 5,
            "requests_per_minute": 10**6,
            **settings,
        }
        code = f"{REPOSITORY}:{REPOSITORY / 'images' / 'gateway'}"
        self.environment = (
            os.environ
            | {"PYTHONPATH": code}
            | ({_FIGURES: str(folder / "figures")} if settings.get("processes", 1) > 1 else {})
            | {f"GATEWAY_{name.upper()}": str(value) for name, value in own.items()}
        )
        self._program = (python, "-m", "devctl_gateway")
        self._process = Process((*self._program, "serve"), folder / "gateway.log")
        self._process.env = self.environment

    @property
    def pid(self) -> int:
        """Its number, once it has been started."""
        return self._process.pid

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run another of its programs to its end."""
        return subprocess.run(
            [*self._program, *command],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        self._process.start()
        wait_until(self._is_ready, lambda: f"it is ready: {self._process.tail()}")

    def stop(self) -> None:
        """End it."""
        self._process.stop()

    def kill(self) -> None:
        """End it without a word."""
        self._process.kill()

    def client(self, who: str = "", *, bearer: str = "") -> httpx2.Client:
        """A client of somebody, or of whoever holds a key."""
        token = signed(claims(sub=who, groups=list(USERS[who]))) if who else bearer
        return httpx2.Client(
            base_url=f"http://127.0.0.1:{self.port}/gpu-workers",
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=30,
        )

    def _is_ready(self) -> bool:
        try:
            answer = httpx2.get(f"http://127.0.0.1:{self.port}/readyz", timeout=5)
        except httpx2.HTTPError:
            return False
        return answer.status_code == 200


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
