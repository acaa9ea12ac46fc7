"""Where a run is: the running pods of a server, and the program in them that manages runs."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.labels import DEVSERVER
from devctl.client.servers import Servers
from devctl.client.streams.pods import container_state, running_pod
from devctl.client.streams.stdio import feed
from devctl.errors import BusyError, DevctlError, NotFoundError, UsageError
from devctl.kube import resources
from devctl.kube.pod_streams import STDERR, STDOUT, open_exec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from devctl.kube.cluster import Cluster, Object
    from devctl.kube.pod_streams import ExecStream

PROGRAM = ("/bin/sh", "/opt/devctl/run")
"""Manages runs in every pod; roles/devserver/files/run documents its commands."""
_ERRORS = {2: UsageError, 3: NotFoundError, 75: BusyError}
"""Errors by the program's exit code; the others are plain ones."""
_MOST_ERRORS = 4096


class Place(NamedTuple):
    """The pods of a server, by replica, as they were when the place was found.

    Attributes:
        distributed: Whether its replicas train together.
        pods: Its running pods.
        processes: How many processes a training has. Several use one port, so that only one run
            at a time is possible.
        away: The replicas that do not run, and why.
    """

    cluster: Cluster
    server: str
    distributed: bool
    pods: Mapping[int, Object]
    processes: int
    away: Mapping[int, DevctlError] = MappingProxyType({})

    @property
    def replicas(self) -> Sequence[int]:
        """The replicas that run."""
        return sorted(self.pods)

    @property
    def size(self) -> int:
        """The number of replicas, whether they run or not."""
        return len(self.pods) + len(self.away)

    def called(self, replica: int) -> str:
        """A replica in a sentence; the only one is called by its server."""
        return f"replica {replica}" if self.size > 1 else f"server `{self.server}`"

    def open(self, replica: int, *words: str) -> ExecStream:
        """Start the program in a replica; it runs while its input is open."""
        meta = self.pods[replica]["metadata"]
        argv = [*PROGRAM, *words]
        return open_exec(self.cluster, meta["name"], argv, meta["namespace"], stdin=True)

    def ask(self, replica: int, *words: str, send: bytes = b"") -> bytes:
        """What the program prints in response to a command and `send`; raises what it reports."""
        said = {STDOUT: bytearray(), STDERR: bytearray()}
        with self.open(replica, *words) as stream:
            if send:
                feed(stream, send)
            for channel, data in stream.read():
                if channel == STDOUT or len(said[channel]) < _MOST_ERRORS:
                    said[channel] += data
            code = stream.exit_code
        if code:
            raise self.failure(replica, code, bytes(said[STDERR]))
        return bytes(said[STDOUT])

    def failure(self, replica: int, code: int, said: bytes) -> DevctlError:
        """The error that the program reported: what happened and what to do, on a line each."""
        first, _, rest = said.decode(errors="replace").strip().partition("\n")
        kind = _ERRORS.get(code, DevctlError)
        if not first.startswith("error: "):
            # The container's shell did not find the program.
            return DevctlError(
                f"{self.called(replica)} cannot manage runs: {first or f'exit code {code}'}",
                f"restart it with `devctl stop {self.server}` and `devctl start {self.server}`",
            )
        message = first.removeprefix("error: ")
        fix = rest.strip().removeprefix("fix: ")
        return kind(f"{self.called(replica)}: {message}" if self.size > 1 else message, fix)


def find_place(cluster: Cluster, name: str, *, partly: bool = False) -> Place:
    """The place of a server all of whose pods run; with `partly`, some are enough.

    DevctlError, which says why, if they do not run.
    """
    server = Servers(cluster).get(name)
    found = {
        str(pod["metadata"]["name"]): pod
        for pod in cluster.list(resources.Pod, labels={DEVSERVER: name})
        if container_state(pod) == "running"
    }
    pods: dict[int, Object] = {}
    away: dict[int, DevctlError] = {}
    for replica, pod in enumerate(server.pods()):
        try:
            # running_pod explains why a missing one does not run.
            pods[replica] = found.get(pod) or running_pod(cluster, name, replica)
        except DevctlError as error:
            away[replica] = error
    if away and not (pods and partly):
        raise away[min(away)]
    processes = server.size * server.processes
    return Place(cluster, name, server.mode == "distributed", pods, processes, away)
