"""Looks at what all servers and jobs use."""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.devserver import Phase
from devctl.client.jobs.jobs import Jobs
from devctl.client.load import Load
from devctl.client.monitor import COMMAND, INTERVAL, Sample, sampled
from devctl.client.objects import Collection
from devctl.client.servers import Server, Servers
from devctl.client.streams.execute import execute_in
from devctl.client.waiting import OnEvery
from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from devctl.client.jobs.job import Job
    from devctl.client.monitor import Usage

_AT_ONCE = 16
"""How many replicas are asked at the same time."""
_PATIENCE = 5.0
"""Seconds after which a replica that has not answered is left out of a look."""


class _Pod(NamedTuple):
    namespace: str
    name: str
    replica: int


class Top(Collection):
    """Looks at all servers and jobs of a namespace, or of devctl.kube.cluster.EVERYWHERE."""

    def once(self, namespace: str | None = None, seconds: float = 1.0) -> Sequence[Load]:
        """What each uses; its CPU usage is measured over some seconds. See watch."""
        looks = self.watch(namespace, seconds)
        first = next(looks)
        return next(looks) if any(load.samples for load in first) else first

    def watch(
        self,
        namespace: str | None = None,
        seconds: float = INTERVAL,
        sleep: Callable[[float], object] = time.sleep,
    ) -> Iterator[Sequence[Load]]:
        """All servers, and jobs that have not ended, every some seconds; never ends by itself.

        CPU usage is known from the second look on. A replica that does not answer in time is a
        problem of its server's, and delays no other.

        Raises:
            UsageError: The seconds are not positive.
            DevctlError: Servers cannot be listed.
        """
        if seconds <= 0:
            raise UsageError(f"{seconds:g} s is not a time between looks", "name 1 s or more")
        before: dict[_Pod, Usage] = {}
        asked: set[_Pod] = set()
        while True:
            servers = sorted(Servers(self._cluster).list(namespace), key=_place)
            pods = [_pods(server) for server in servers]
            samples = self._ask(list(chain.from_iterable(pods)), before, asked)
            before = {pod: sample.usage for pod, sample in samples.items() if sample.usage}
            loads = [
                Load(server, [samples[pod] for pod in own])
                for server, own in zip(servers, pods, strict=True)
            ]
            yield [*loads, *self._jobs(namespace)]
            sleep(seconds)

    def _jobs(self, namespace: str | None) -> list[Load]:
        # Not everyone may see jobs, and not every cluster has the kind.
        with suppress(DeniedError, NotFoundError):
            jobs = [job for job in Jobs(self._cluster).list(namespace) if not job.finished]
            return [Load(job) for job in sorted(jobs, key=_place)]
        return []

    def _ask(
        self, pods: Sequence[_Pod], before: dict[_Pod, Usage], asked: set[_Pod]
    ) -> dict[_Pod, Sample]:
        """A sample of each pod; `asked` are those that have not answered an earlier look yet."""
        free = [pod for pod in pods if pod not in asked]

        def look(number: int) -> Sample:
            pod = free[number]
            asked.add(pod)
            try:
                return self._sample(pod, before.get(pod))
            finally:
                asked.discard(pod)

        work = OnEvery(range(len(free)), look, _AT_ONCE)
        work.wait(_PATIENCE)
        for failure in work.failed.values():
            raise failure
        found = {free[number]: sample for number, sample in list(work.done.items())}
        silent = f"it does not answer within {_PATIENCE:g} s"
        return {pod: found.get(pod, Sample(pod.replica, pod.name, problem=silent)) for pod in pods}

    def _sample(self, pod: _Pod, before: Usage | None) -> Sample:
        try:
            done = execute_in(self._cluster, pod.name, pod.namespace, COMMAND, is_activity=False)
        except DevctlError as error:
            return Sample(pod.replica, pod.name, problem=error.message)
        return sampled(pod.replica, pod.name, done, before)


def _pods(server: Server) -> list[_Pod]:
    """The pods of a server that run."""
    running = (each for each in server.replicas if each.phase == Phase.RUNNING)
    return [_Pod(server.namespace, each.pod, each.ordinal) for each in running]


def _place(item: Server | Job) -> tuple[str, str]:
    return item.namespace, item.name
