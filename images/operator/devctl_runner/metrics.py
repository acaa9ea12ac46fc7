"""The daemon's figures, in Prometheus' text format."""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import TYPE_CHECKING

from devctl_runner import paths
from devctl_runner.processes import resident_bytes

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
SCRAPE_SECONDS = 5.0
_BUSY_SECONDS = 0.01
_PREFIX = "devctl_runner"
_KINDS = {
    "runs_total": ("counter", "Runs that ended, by role and result."),
    "run_seconds": ("histogram", "Time from a run's fork to its end, by role."),
    "queue_seconds": ("histogram", "Time that a run waited for others to end."),
    "fallbacks_total": ("counter", "Runs that went to the stock ansible-runner, by reason."),
    "warm_ups_total": ("counter", "Times that Ansible was imported and every role run once."),
    "warm_up_seconds": ("gauge", "How long the last warm-up took."),
    "warm": ("gauge", "1 if runs are done here, 0 if all of them go to the stock ansible-runner."),
    "queue": ("gauge", "Runs that wait for others to end."),
    "running": ("gauge", "Runs that go on."),
    "max_runs": ("gauge", "How many runs may go on at once."),
    "resident_bytes": ("gauge", "Memory of the process that runs are forked from."),
}


class Metrics:
    """Counted by the daemon alone, so without locks."""

    def __init__(self, saved: str = "{}") -> None:
        """Begin with what an earlier process of the same daemon saved."""
        self._values: dict[str, float] = json.loads(saved)
        self._fallbacks_read = int(self._values.pop("fallbacks_read", 0))

    def save(self) -> str:
        """For a new process of the same daemon."""
        return json.dumps(self._values | {"fallbacks_read": self._fallbacks_read})

    def add(self, name: str, **labels: str) -> None:
        """Count one."""
        self._increase(_series(name, labels), 1)

    def _increase(self, series: str, value: float) -> None:
        self._values[series] = self._values.get(series, 0) + value

    def put(self, name: str, value: float) -> None:
        """Set a gauge."""
        self._values[_series(name, {})] = value

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        """Count into a histogram."""
        for bound in (*BUCKETS, float("inf")):
            le = "+Inf" if bound == float("inf") else f"{bound:g}"
            self._increase(_series(f"{name}_bucket", labels | {"le": le}), seconds <= bound)
        self._increase(_series(f"{name}_sum", labels), seconds)
        self.add(f"{name}_count", **labels)

    def read_fallbacks(self) -> None:
        """Count what the clients noted since the last time."""
        with contextlib.suppress(OSError), open(paths.fallbacks_path(), "rb") as file:  # noqa: PTH123
            file.seek(self._fallbacks_read)
            for line in file.read().splitlines(keepends=True):
                if line.endswith(b"\n"):
                    self._fallbacks_read += len(line)
                    self.add("fallbacks_total", reason=line.decode(errors="replace").strip())

    def text(self) -> str:
        """Everything, for Prometheus."""
        lines = []
        for name, (kind, meaning) in _KINDS.items():
            lines += [f"# HELP {_PREFIX}_{name} {meaning}", f"# TYPE {_PREFIX}_{name} {kind}"]
            parts = {name, f"{name}_bucket", f"{name}_sum", f"{name}_count"}
            for series, value in self._values.items():
                if series.partition("{")[0] in parts:
                    lines.append(f"{_PREFIX}_{series} {value:.15g}")
        return "\n".join(lines) + "\n"


def _series(name: str, labels: Mapping[str, str]) -> str:
    pairs = ",".join(f"{key}={json.dumps(value)}" for key, value in labels.items())
    return f"{name}{{{pairs}}}" if pairs else name


class Scraper:
    """Answers one scrape at a time, so that scrapes cost a bounded number of processes."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self._pid = 0

    def answer(self, listener: socket.socket, metrics: Metrics) -> None:
        """Answer from a process of its own, which a slow reader cannot make the runs wait for."""
        if self._pid and os.waitpid(self._pid, os.WNOHANG)[0] == 0:
            time.sleep(_BUSY_SECONDS)
            return
        self._pid = 0
        metrics.read_fallbacks()
        metrics.put("max_runs", paths.max_runs())
        metrics.put("resident_bytes", resident_bytes())
        text = metrics.text()
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            self._pid = os.fork()
            if self._pid == 0:
                try:
                    connection.settimeout(SCRAPE_SECONDS)
                    _answer(connection, text)
                finally:
                    os._exit(0)


def _answer(connection: socket.socket, text: str) -> None:
    asked = b""
    while b"\r\n\r\n" not in asked and len(asked) < paths.MESSAGE_BYTES:
        part = connection.recv(4096)
        if not part:
            return
        asked += part
    found = asked.startswith(b"GET /metrics ")
    body = text.encode() if found else b"not found\n"
    head = (
        f"HTTP/1.1 {'200 OK' if found else '404 Not Found'}\r\n"
        "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
