"""What the replicas of a server use, now and as it changes."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from devctl.client.servers import Servers
from devctl.client.usage import COMMAND, Process, Usage, parse_usage
from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from devctl.client.streams.execute import Execute
    from devctl.kube.cluster import Cluster

INTERVAL = 2.0
"""Seconds between looks where nobody says how many."""
_AT_ONCE = 16
"""How many replicas are looked at at the same time."""
_MISSING = {126, 127}
"""Exit codes of what is not there, or cannot be run."""


@dataclass(frozen=True)
class Sample:
    """What one replica uses.

    Attributes:
        replica: Which one.
        pod: Its pod.
        usage: What it uses; None where that could not be found out.
        cpu: How many processors it has kept busy since the last look; None at the first one.
        busy: The same of each of its processes, by number.
        problem: Why it could not be found out.
    """

    replica: int
    pod: str
    usage: Usage | None = None
    cpu: float | None = None
    busy: dict[int, float] | None = None
    problem: str = ""

    def top(self, count: int) -> Sequence[Process]:
        """The processes that are the busiest, and of those that are not the largest."""
        busy = self.busy or {}
        found = self.usage.processes if self.usage else ()
        ranked = sorted(
            found, key=lambda p: (-round(busy.get(p.pid, 0.0), 2), -(p.memory or 0), p.pid)
        )
        return ranked[:count]

    def document(self) -> dict[str, Any]:
        """All of it, as JSON takes it."""
        busy = self.busy or {}
        found: dict[str, Any] = {"replica": self.replica, "pod": self.pod}
        if self.usage is None:
            return found | {"problem": self.problem}
        usage = self.usage
        return found | {
            "cpu": {"used": self.cpu, "limit": usage.cpus},
            "memory": {"used": usage.memory, "limit": usage.memory_size},
            "home": {"used": usage.home, "size": usage.home_size},
            "gpus": [gpu._asdict() for gpu in usage.gpus],
            "processes": [asdict(p) | {"cpu": busy.get(p.pid)} for p in usage.processes],
        }


class Monitor:
    """Looks at what servers use.

    for sample in client.monitor.once("lab"):
        print(sample.replica, sample.cpu, sample.usage.memory)
    """

    def __init__(self, cluster: Cluster, execute: Execute) -> None:
        """Ask nothing yet."""
        self._servers, self._execute = Servers(cluster), execute

    def once(self, name: str, seconds: float = 1.0) -> Sequence[Sample]:
        """What each replica uses; how busy it is, over some seconds.

        Raises:
            NotFoundError: There is no such server.
            DevctlError: It does not run.
        """
        looks = self.watch(name, seconds)
        next(looks)
        return next(looks)

    def watch(
        self, name: str, seconds: float = INTERVAL, sleep: Callable[[float], object] = time.sleep
    ) -> Iterator[Sequence[Sample]]:
        """What each replica uses, again and again; never ends by itself.

        Args:
            name: The server.
            seconds: How long between looks. How busy a replica is, is known from the second one on.
            sleep: Waits.

        Raises:
            NotFoundError: There is no such server, or no longer.
            DevctlError: It does not run.
        """
        if seconds <= 0:
            raise UsageError(f"{seconds:g} s is not a time between looks", "name 1 s or more")
        before: dict[int, Usage] = {}
        while True:
            server = self._servers.get(name)
            if server.stopped:
                raise DevctlError(
                    f"server `{name}` is stopped", f"start it with `devctl start {name}`"
                )
            with ThreadPoolExecutor(min(_AT_ONCE, server.size)) as pool:
                look = partial(self._look, name, before)
                found = list(pool.map(look, range(server.size)))
            before = {sample.replica: sample.usage for sample in found if sample.usage}
            yield found
            sleep(seconds)

    def _look(self, name: str, before: dict[int, Usage], replica: int) -> Sample:
        pod = f"{name}-{replica}"
        try:
            done = self._execute(name, COMMAND, replica=replica)
        except (NotFoundError, DeniedError):
            raise
        except DevctlError as error:
            return Sample(replica, pod, problem=error.message)
        if done.exit_code in _MISSING or b"==> " not in done.output:
            why = "its image has no shell, or it was started before devctl could look into it"
            return Sample(replica, pod, problem=f"{why}: stop and start it")
        return judge(replica, pod, parse_usage(done.output), before.get(replica))


def judge(replica: int, pod: str, now: Usage, before: Usage | None) -> Sample:
    """What a replica uses, with how busy it was between two looks."""
    if before is None or now.at is None or before.at is None or now.at <= before.at:
        return Sample(replica, pod, now)
    took = now.at - before.at
    cpu = None
    if now.cpu_seconds is not None and before.cpu_seconds is not None:
        # A container that was started anew counts from 0.
        cpu = max(0.0, now.cpu_seconds - before.cpu_seconds) / took
    used = {process.pid: process.cpu_seconds for process in before.processes}
    busy = {
        process.pid: max(0.0, process.cpu_seconds - used[process.pid]) / took
        for process in now.processes
        if process.pid in used
    }
    return Sample(replica, pod, now, cpu, busy)
