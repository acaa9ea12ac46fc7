"""What lives through every fault of tests/faults, and how it stands before and after one."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from support.jobs import WAITS, Job
from support.servers import KEEP, TWO_RANKS, DevServer, small_server, succeeds, wait_until

from devctl.api.labels import DEVSERVER
from devctl.local import cgroups
from devctl.local.paths import cache_paths, cluster_paths
from devctl.local.status import read_status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

Thing = dict[str, Any]
RANKS = (0, 1)
HEALED = 240.0
"""Seconds until all is well again: the kubelet's pauses of 10, 20 and 40 s are among them."""
_MARKER = "marker"


@dataclass(frozen=True)
class Standing:
    """How everything stands at one moment.

    Attributes:
        kept: What no fault may change: homes, files, objects.
        pods: The server's StatefulSet and pods, by UID.
        containers: Its containers that run; a restarted one is another.
    """

    kept: Thing
    pods: dict[str, str]
    containers: set[str]

    @property
    def running(self) -> tuple[dict[str, str], set[str]]:
        """All that a fault beside it leaves alone."""
        return self.pods, self.containers


@dataclass(frozen=True)
class Day:
    """A running server with a rank on each node, and the cluster that it is on."""

    cluster: ClusterSettings
    kubectl: Kubectl
    server: DevServer
    jobs: str
    """The namespace of what is not the server's."""
    _days: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def paths(self) -> ClusterPaths:
        """The cluster's files."""
        return cluster_paths(self.cluster.name)

    def group(self, node: int = 0) -> str:
        """The control group of a node."""
        return cgroups.path_of(self.cluster.name, self.cluster.nodes[node].name)

    def job(self, name: str, **spec: Any) -> Job:
        """A new job, which waits until it is let go unless it is told otherwise."""
        made = Job(self.kubectl, self.jobs, str(self.server.spec["image"]), name)
        made.apply(**{"command": WAITS} | spec)
        return made

    def pod(self, rank: int) -> Thing:
        """The pod of a rank."""
        return self.server.get("pod", f"{self.server.name}-{rank}")[0]

    def node_of(self, rank: int) -> str:
        """The node of a rank; empty while it has none."""
        return str(self.pod(rank)["spec"].get("nodeName", ""))

    def uids(self, kinds: str) -> dict[str, str]:
        """The server's objects, without those of others in its namespace."""
        found = self.server.get(kinds, labels=f"{DEVSERVER}={self.server.name}")
        return {f"{one['kind']}/{one['metadata']['name']}": one["metadata"]["uid"] for one in found}

    def containers(self) -> set[str]:
        """The server's containers that run."""
        return {
            status["containerID"]
            for rank in RANKS
            for status in self.pod(rank)["status"].get("containerStatuses", [])
            if status["ready"]
        }

    def stand(self) -> Standing:
        """How it stands now."""
        marker = self.kubectl.api.get("configmap", _MARKER, self.jobs)
        kept = {
            "homes": self.uids("pvc"),
            "files": [self.server.run("cat /home/dev/file", rank) for rank in RANKS],
            "object": marker and marker["data"],
            "shared": (self.paths.shared_volumes / self.jobs).read_text(),
        }
        return Standing(kept, self.uids("pod,statefulset"), self.containers())

    def await_answer(self) -> None:
        """Have operator and observer answer a change that concerns no pod."""
        self.server.apply(lifecycle={"timeToLive": f"{next(self._days)}d"})
        self.server.wait("Applied")
        self.server.wait("Ready")

    def is_well(self) -> bool:
        """Whether `devctl local status` finds nothing wrong."""
        return read_status(self.cluster, self.paths, cache_paths()).state == "up"

    def await_well(self) -> None:
        """Wait until nothing is wrong with the cluster, nor with the server."""
        wait_until(self.is_well, lambda: str(self._problems()), HEALED)
        self.server.wait("Ready")

    def _problems(self) -> list[str]:
        return [*read_status(self.cluster, self.paths, cache_paths()).problems]


def let_go(job: Job) -> None:
    """End a running job; a kubelet that was killed takes a moment to answer."""
    wait_until(
        lambda: succeeds(lambda: job.run("touch /artifacts/go")), f"{job.name} is told to end"
    )


@contextmanager
def new_day(kubectl: Kubectl, cluster: ClusterSettings, image: str) -> Iterator[Day]:
    """A server and what else has to outlast every fault; all of it goes in the end."""
    name = f"faults-{uuid4().hex[:6]}"
    jobs = f"{name}-jobs"
    for namespace in (name, jobs):
        kubectl("create", "namespace", namespace)
    with small_server(kubectl, name, image, **TWO_RANKS) as server:
        day = Day(cluster, kubectl, server, jobs)
        server.apply()
        kubectl("-n", jobs, "create", "configmap", _MARKER, f"--from-literal=value={name}")
        day.paths.shared_volumes.joinpath(jobs).write_text(name)
        server.wait("Ready")
        assert sorted(map(day.node_of, RANKS)) == [node.name for node in cluster.nodes]
        for rank in RANKS:
            server.run(KEEP, rank)
        yield day
        day.paths.shared_volumes.joinpath(jobs).unlink()
    kubectl("delete", "namespace", name, jobs, "--wait=false")
