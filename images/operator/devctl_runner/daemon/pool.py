"""The processes that were forked from the warm one, busy or idle.

A fork costs more than a small run: every page that the run touches is copied, and whatever Python
and Ansible compute on first use is computed again. Therefore, a process that has finished a run
whose tasks left nothing behind takes the next one, if it arrives within seconds.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from devctl_runner.daemon.job import Job
from devctl_runner.runs.events import Progress
from devctl_runner.runs.serve import DONE, UNABLE

IDLE_SECONDS = 5.0


@dataclass(eq=False)
class Forked:
    """A process, and its current job."""

    pid: int
    watch: int
    channel: socket.socket
    progress: Progress
    job: Job | None
    idle_since: float = 0.0


class Pool:
    """Forks processes, reuses idle ones, and ends those that are no longer needed."""

    def __init__(self, selector: selectors.BaseSelector, ended: Callable[[Job, int], None]) -> None:
        """`ended` is called for each job that has ended, with the exit status."""
        self._selector, self._ended = selector, ended
        self._idle: list[Forked] = []

    def fork(self, job: Job, work: Callable[[socket.socket], object]) -> None:
        """Do the work for a job in a new process, which gets a channel to this one."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        job.pid = os.fork()
        if job.pid == 0:
            try:
                for key in list(self._selector.get_map().values()):
                    os.close(key.fd)  # a client waits until every copy of its socket is closed
                ours.close()
                work(theirs)
            finally:
                os._exit(UNABLE)
        theirs.close()
        process = Forked(job.pid, os.pidfd_open(job.pid), ours, job.progress, job)
        self._selector.register(process.watch, selectors.EVENT_READ, lambda: self._collect(process))
        self._selector.register(ours, selectors.EVENT_READ, lambda: self._hear(process))

    def hand_on(self, job: Job) -> bool:
        """Pass a job to an idle process; False if there is none."""
        while self._idle:
            process = self._idle.pop()  # the most recent one's memory is likeliest to be cached
            process.progress.reset()
            try:
                process.channel.send(job.message)
            except OSError:
                self._dismiss(process)
                continue
            job.pid, job.progress, process.job = process.pid, process.progress, job
            return True
        return False

    def dismiss_idle(self, seconds: float = IDLE_SECONDS) -> None:
        """End the processes that have been idle for so long."""
        limit = time.monotonic() - seconds
        for process in [one for one in self._idle if one.idle_since <= limit]:
            self._idle.remove(process)
            self._dismiss(process)

    def close(self) -> None:
        """End every idle process, and wait for it."""
        for process in list(self._idle):
            self._dismiss(process)
            self._collect(process)

    def _dismiss(self, process: Forked) -> None:
        """Close a process's channel, which makes it end."""
        with contextlib.suppress(KeyError, ValueError):  # no longer registered, or closed
            self._selector.unregister(process.channel)
        process.channel.close()

    def _hear(self, process: Forked) -> None:
        """Handle a process's message that it has finished its job and can take another."""
        try:
            said = process.channel.recv(len(DONE))
        except OSError:
            said = b""
        if said != DONE or process.job is None:
            self._dismiss(process)  # it has ended; `watch` reports how
            return
        job, process.job = process.job, None
        process.idle_since = time.monotonic()
        self._idle.append(process)
        self._ended(job, 0)

    def _collect(self, process: Forked) -> None:
        """Handle a process's end."""
        self._selector.unregister(process.watch)
        os.close(process.watch)
        self._dismiss(process)
        status = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])
        if process in self._idle:
            self._idle.remove(process)
        if process.job is not None:
            self._ended(process.job, status)
