"""Where a run is: the pods of a server that runs, and the program in them that looks after runs."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.labels import DEVSERVER
from devctl.client.servers import Servers
from devctl.client.streams.pods import container_state, running_pod
from devctl.client.streams.stdio import feed_bytes
from devctl.errors import BusyError, DevctlError, NotFoundError, UsageError
from devctl.kube import resources
from devctl.kube.exec_stream import STDERR, STDOUT, open_exec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from devctl.kube.cluster import Cluster, Object
    from devctl.kube.exec_stream import ExecStream

PROGRAM = ("/bin/sh", "/opt/devctl/run")
"""What looks after runs in every pod; roles/devserver/files/run says what it understands."""
_ERRORS = {2: UsageError, 3: NotFoundError, 75: BusyError}
"""What its exit codes mean; all others are plain errors."""
_MOST_ERRORS = 4096


class Place(NamedTuple):
    """The pods of a server, by rank, as they were when the place was found.

    Attributes:
        cluster: Where the server is.
        server: Its name.
        distributed: Whether its ranks train together.
        pods: Its pods.
        processes: How many a training has in all. Several meet at one port, so that there is one
            run at a time.
        away: Ranks that are not there, and why.
    """

    cluster: Cluster
    server: str
    distributed: bool
    pods: Mapping[int, Object]
    processes: int
    away: Mapping[int, DevctlError] = MappingProxyType({})

    @property
    def ranks(self) -> Sequence[int]:
        """All ranks that are there."""
        return sorted(self.pods)

    @property
    def size(self) -> int:
        """How many ranks the server has, whether they are there or not."""
        return len(self.pods) + len(self.away)

    def without(self, away: Mapping[int, DevctlError]) -> Place:
        """The same without some ranks, and why."""
        pods = {rank: pod for rank, pod in self.pods.items() if rank not in away}
        return self._replace(pods=pods, away={**self.away, **away})

    def called(self, rank: int) -> str:
        """How a person calls a rank: where there is one only, by its server."""
        return f"rank {rank}" if self.size > 1 else f"server `{self.server}`"

    def open(self, rank: int, *words: str) -> ExecStream:
        """Start the program in a rank; it goes on while its input is open."""
        meta = self.pods[rank]["metadata"]
        argv = [*PROGRAM, *words]
        return open_exec(self.cluster, meta["name"], argv, meta["namespace"], stdin=True)

    def ask(self, rank: int, *words: str, send: bytes = b"") -> bytes:
        """What the program prints that is asked for something short.

        Args:
            rank: Where.
            words: What it is asked.
            send: What it reads, all of which it takes before it does anything.

        Raises:
            DevctlError: What it says went wrong.
        """
        printed, said = bytearray(), bytearray()
        with self.open(rank, *words) as stream:
            if send:
                feed_bytes(stream, send)
            for channel, data in stream.read():
                if channel == STDOUT:
                    printed += data
                elif channel == STDERR and len(said) < _MOST_ERRORS:
                    said += data
            code = stream.exit_code
        if code:
            raise self.failure(rank, code, bytes(said))
        return bytes(printed)

    def failure(self, rank: int, code: int, said: bytes) -> DevctlError:
        """The error that the program told of: what happened and what to do, a line each."""
        first, _, rest = said.decode(errors="replace").strip().partition("\n")
        kind = _ERRORS.get(code, DevctlError)
        if not first.startswith("error: "):
            # The container's shell itself did not find it.
            return DevctlError(
                f"{self.called(rank)} cannot look after runs: {first or f'exit code {code}'}",
                f"restart it with `devctl stop {self.server}` and `devctl start {self.server}`",
            )
        message = first.removeprefix("error: ")
        fix = rest.strip().removeprefix("fix: ")
        return kind(f"{self.called(rank)}: {message}" if self.size > 1 else message, fix)


def find_place(cluster: Cluster, name: str, *, partly: bool = False) -> Place:
    """The place of a server all of whose pods run.

    Args:
        cluster: Where the server is.
        name: Its name.
        partly: Whether some of its pods will do.

    Raises:
        NotFoundError: There is no such server.
        DevctlError: It does not run now; says why.
    """
    server = Servers(cluster).get(name)
    found = {
        str(pod["metadata"]["name"]): pod
        for pod in cluster.list(resources.Pod, labels={DEVSERVER: name})
        if container_state(pod) == "running"
    }
    pods: dict[int, Object] = {}
    away: dict[int, DevctlError] = {}
    for rank, pod in enumerate(server.pods()):
        try:
            # Whatever is missing is asked for by itself, so that it is said why it does not run.
            pods[rank] = found.get(pod) or running_pod(cluster, name, rank)
        except DevctlError as error:
            away[rank] = error
    if away and not (pods and partly):
        raise away[min(away)]
    processes = server.size * server.processes
    return Place(cluster, name, server.mode == "distributed", pods, processes, away)
