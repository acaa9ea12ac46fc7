"""The daemon's loop: one thread, because forking from several is not safe."""

from __future__ import annotations

import selectors
import time
from collections import deque
from socket import socket

from devctl_runner import paths
from devctl_runner.daemon import figures
from devctl_runner.daemon.figures import Scraper
from devctl_runner.daemon.files import Files
from devctl_runner.daemon.job import TIMED_OUT, Job, answer, explain, output, read, report
from devctl_runner.daemon.pool import Pool
from devctl_runner.daemon.processes import kill_tree
from devctl_runner.runs.serve import UNABLE, serve
from devctl_runner.runs.warm import Warm

_TICK_SECONDS = 1.0


class Loop:
    """Accepts runs, starts them, kills overdue ones."""

    def __init__(
        self,
        listeners: list[socket],
        warm: Warm | None,
        own: dict[str, str],
        files: Files,
    ) -> None:
        """Start without runs.

        Args:
            listeners: The socket for runs and, optionally, the one for metrics.
            warm: What runs inherit; if None, all of them are sent to the stock runner.
            own: The environment that the daemon started with.
            files: The files that Ansible has read.
        """
        self.listeners, self.warm = listeners, warm
        self.own, self.files, self.draining, self.scraper = own, files, False, Scraper()
        self.waiting: deque[Job] = deque()
        self.running: set[Job] = set()
        self.selector = selectors.DefaultSelector()
        self.pool = Pool(self.selector, self.ended)
        for listener, action in zip(listeners, (self.take, self.scrape), strict=False):
            listener.settimeout(0)
            self.selector.register(listener, selectors.EVENT_READ, action)

    def serve(self) -> None:
        """Return when a role's files have changed and no run is active."""
        while not (self.draining and not self.running and not self.waiting):
            for key, _ in self.selector.select(_TICK_SECONDS):
                # An earlier action may have closed it, and its number may have been reused.
                if self.selector.get_map().get(key.fd) is key:
                    key.data()
            if not self.draining and self.files.changed():
                self.draining = True
                self.selector.unregister(self.listeners[0])  # left to the next process
            self.end_overdue()
            self.pool.dismiss_idle()
            while self.waiting and len(self.running) < paths.max_runs():
                self.start(self.waiting.popleft())
        self.pool.close()

    def take(self) -> None:
        """Accept a client."""
        try:
            client, _ = self.listeners[0].accept()
        except OSError:
            return
        client.settimeout(0)
        self.selector.register(client, selectors.EVENT_READ, lambda: self.hear(client))

    def hear(self, client: socket) -> None:
        """Read a client's one message."""
        self.selector.unregister(client)
        if entry := read(client, self.own, warm=self.warm is not None):
            self.selector.register(client, selectors.EVENT_READ, lambda: self.cancel(entry))
            self.waiting.append(entry)

    def start(self, entry: Job) -> None:
        """Start a run in an idle process or in a new one."""
        warm = self.warm
        assert warm is not None  # noqa: S101 - otherwise `hear` queues nothing
        now = time.monotonic()
        figures.QUEUE_SECONDS.observe(now - entry.since)
        entry.since, entry.deadline = now, now + paths.timeout()
        self.running.add(entry)
        if not self.pool.hand_on(entry):
            self.pool.fork(
                entry, lambda channel: serve(entry.message, entry.progress, warm, self.own, channel)
            )

    def end_overdue(self) -> None:
        """Kill runs that take too long; the operator itself has no limit."""
        for entry in self.running:
            if time.monotonic() > entry.deadline:
                entry.deadline, entry.result = float("inf"), "timeout"
                kill_tree(entry.pid)

    def cancel(self, entry: Job) -> None:
        """Cancel a run whose client has gone away."""
        self.selector.unregister(entry.client)
        if entry in self.running:
            entry.result = "cancelled"
            kill_tree(entry.pid)
        else:
            self.waiting.remove(entry)
            self.finish(entry, "cancelled", 1)

    def ended(self, entry: Job, status: int) -> None:
        """Handle a run's end; report it if the run was killed before it could."""
        killed = status < 0 or entry.result == "timeout"
        if killed and not entry.progress.finished and entry.result != "cancelled":
            message = explain(entry.result, status)
            entry.result, entry.status = entry.result or "crashed", TIMED_OUT
            self.pool.fork(entry, lambda _: report(entry, message))
        else:
            if status == UNABLE and not entry.progress.posted:
                entry.result = "unable"
            self.running.discard(entry)
            self.finish(
                entry, entry.result or ("failed" if status else "ok"), entry.status or status
            )

    def finish(self, entry: Job, result: str, status: int) -> None:
        """Reply to the client and count the run."""
        if entry.client.fileno() in self.selector.get_map():
            self.selector.unregister(entry.client)
        said = f"rc {abs(status)}\n{output(entry.run) if status else ''}"
        answer(entry.client, "fallback unable" if result == "unable" else said)
        figures.RUNS.labels(role=entry.run.label, result=result).inc()
        seconds = time.monotonic() - entry.since
        figures.RUN_SECONDS.labels(role=entry.run.label).observe(seconds)

    def scrape(self) -> None:
        """Answer Prometheus."""
        figures.QUEUE.set(len(self.waiting))
        figures.RUNNING.set(len(self.running))
        self.scraper.answer(self.listeners[1])
