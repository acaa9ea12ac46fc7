"""The daemon's metrics, and how they are served.

Forked processes hold copies that end with them, so only the daemon counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    MetricsHandler,
    disable_created_metrics,
)

from devctl_runner import paths

_SCRAPE_SECONDS = 5
_BUSY_SECONDS = 0.01
_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)

disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY = CollectorRegistry()
_ours: dict[str, Any] = {"namespace": "devctl", "subsystem": "runner", "registry": REGISTRY}

RUNS = Counter(
    "runs",
    "Finished runs: ok, failed, timeout (exceeded DEVCTL_RUNNER_TIMEOUT), crashed, cancelled (by "
    "the operator), unable (handed to the stock runner).",
    ["role", "result"],
    **_ours,
)
RUN_SECONDS = Histogram("run_seconds", "Duration of runs.", ["role"], buckets=_BUCKETS, **_ours)
QUEUE_SECONDS = Histogram(
    "queue_seconds", "Time runs spent in the queue.", buckets=_BUCKETS, **_ours
)
FALLBACKS = Counter("fallbacks", "Runs handed to the stock ansible-runner.", ["reason"], **_ours)
WARM = Gauge(
    "warm",
    "1 if the warm runner executes runs, 0 if all of them go to the stock ansible-runner.",
    **_ours,
)
WARM_UPS = Counter("warm_ups", "Warm-ups: Ansible was imported and every role run once.", **_ours)
WARM_UP_SECONDS = Gauge("warm_up_seconds", "Duration of the last warm-up.", **_ours)
QUEUE = Gauge("queue", "Queued runs.", **_ours)
RUNNING = Gauge("running", "Active runs.", **_ours)
MAX_RUNS = Gauge("max_runs", "Maximum number of concurrent runs.", **_ours)
MAX_RUNS.set_function(paths.max_runs)
RESIDENT_BYTES = Gauge(
    "resident_bytes", "Resident memory of the process that runs are forked from.", **_ours
)

RESULTS = ("ok", "failed", "timeout", "crashed", "cancelled", "unable")
REASONS = (
    *("incompatible", "down", "slow", "lost", "unable"),
    *("arguments", "cmdline", "credentials", "environment"),
    *("format", "inventory", "settings", "unreadable"),
)
"""Of fallbacks."""
for reason in REASONS:
    FALLBACKS.labels(reason=reason)

# Fallbacks are in a file, which the next process counts again from the start.
_KEPT = (RUNS, WARM_UPS)


def expect(roles: Iterable[str]) -> None:
    """Export these roles before their first run: `rate()` misses a counter's first step."""
    for role in roles:
        RUN_SECONDS.labels(role=role)
        for result in RESULTS:
            RUNS.labels(role=role, result=result)


def save() -> str:
    """The counters, for the process that replaces this one."""
    metrics = [metric for kept in _KEPT for metric in kept.collect()]
    return json.dumps([[(one.labels, one.value) for one in m.samples] for m in metrics])


def restore(saved: str) -> None:
    """Continue from the counters that the replaced process saved."""
    for kept, samples in zip(_KEPT, json.loads(saved), strict=True):
        for labels, value in samples:
            (kept.labels(**labels) if labels else kept).inc(value)


def resident_bytes() -> int:
    """The resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Scraper:
    """Answers one scrape at a time, so that scrapes never use many processes."""

    def __init__(self) -> None:
        """Start without a scrape."""
        self._pid = 0
        self._fallbacks_read = 0

    def answer(self, listener: socket.socket) -> None:
        """Answer from a forked process, so that a slow reader does not delay runs."""
        if self._pid and os.waitpid(self._pid, os.WNOHANG)[0] == 0:
            time.sleep(_BUSY_SECONDS)
            return
        self._pid = 0
        self.count_fallbacks()
        RESIDENT_BYTES.set(resident_bytes())
        try:
            connection, address = listener.accept()
        except OSError:
            return
        with connection:
            self._pid = os.fork()
            if self._pid == 0:
                try:
                    signal.alarm(_SCRAPE_SECONDS)  # give up on a slow reader
                    handler = MetricsHandler.factory(REGISTRY)
                    handler(connection, address, cast("Any", None))
                finally:
                    os._exit(0)

    def count_fallbacks(self) -> None:
        """Count what clients have noted since the last call."""
        with contextlib.suppress(OSError), open(paths.fallbacks_path(), "rb") as file:  # noqa: PTH123
            file.seek(self._fallbacks_read)
            for line in file.read().splitlines(keepends=True):
                if line.endswith(b"\n"):
                    self._fallbacks_read += len(line)
                    reason = line.decode(errors="replace").strip()
                    FALLBACKS.labels(reason=reason).inc()
