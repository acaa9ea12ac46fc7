"""Answers Prometheus."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING, Any, cast

from prometheus_client import MetricsHandler

from devctl_runner import figures, paths
from devctl_runner.processes import resident_bytes

if TYPE_CHECKING:
    import socket

_SCRAPE_SECONDS = 5
_BUSY_SECONDS = 0.01


class Scraper:
    """Answers one scrape at a time, so that scrapes cost a bounded number of processes."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self._pid = 0
        self._fallbacks_read = 0

    def answer(self, listener: socket.socket) -> None:
        """Answer from a process of its own, which a slow reader cannot make the runs wait for."""
        if self._pid and os.waitpid(self._pid, os.WNOHANG)[0] == 0:
            time.sleep(_BUSY_SECONDS)
            return
        self._pid = 0
        self.count_fallbacks()
        figures.RESIDENT_BYTES.set(resident_bytes())
        try:
            connection, address = listener.accept()
        except OSError:
            return
        with connection:
            self._pid = os.fork()
            if self._pid == 0:
                try:
                    signal.alarm(_SCRAPE_SECONDS)  # nobody is waited for any longer
                    handler = MetricsHandler.factory(figures.REGISTRY)
                    handler(connection, address, cast("Any", None))
                finally:
                    os._exit(0)

    def count_fallbacks(self) -> None:
        """Count what the clients noted since the last time."""
        with contextlib.suppress(OSError), open(paths.fallbacks_path(), "rb") as file:  # noqa: PTH123
            file.seek(self._fallbacks_read)
            for line in file.read().splitlines(keepends=True):
                if line.endswith(b"\n"):
                    self._fallbacks_read += len(line)
                    reason = line.decode(errors="replace").strip()
                    figures.FALLBACKS.labels(reason=reason).inc()
