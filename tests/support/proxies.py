"""Forward proxies on this machine, each a program of its own."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_SPOKEN = {"http": "http", "https": "http+ssl", "socks5": "socks5"}


class Proxy:
    """One that runs.

    Attributes:
        address: What `proxy-url` is to be.
    """

    def __init__(self, scheme: str, port: int, log: Path) -> None:
        """Note where it is."""
        self.address = f"{scheme}://127.0.0.1:{port}"
        self._log = log

    def connections(self) -> Sequence[str]:
        """What it has passed on, a line each."""
        return [line for line in self._log.read_text().splitlines() if "->" in line]


@contextmanager
def forward_proxy(
    scheme: str, folder: Path, certificate: Path | None = None, key: Path | None = None
) -> Iterator[Proxy]:
    """Run a proxy.

    Args:
        scheme: What it speaks: http, https or socks5.
        folder: Where its log goes.
        certificate: Its own, for https.
        key: That of its certificate.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = folder / f"{scheme}-{port}.log"
    argv = [sys.executable, "-u", "-m", "pproxy", "-v"]
    argv += ["-l", f"{_SPOKEN[scheme]}://127.0.0.1:{port}"]
    argv += ["--ssl", f"{certificate},{key}"] if certificate else []
    with log.open("wb") as output:
        running = subprocess.Popen(argv, stdout=output, stderr=subprocess.STDOUT)
        try:
            _wait(port, running)
            yield Proxy(scheme, port, log)
        finally:
            running.kill()
            running.wait()


def _wait(port: int, running: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        assert running.poll() is None, "the proxy has ended"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(f"nobody listens on port {port}")
