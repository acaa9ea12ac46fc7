"""A command in a server, as a program runs one: what it printed, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from devctl.client.streams import exec_pump
from devctl.client.streams.exec_pod import running_pod
from devctl.client.streams.terminal import raw
from devctl.client.streams.whole import open_whole
from devctl.errors import UsageError
from devctl.kube.pod_streams import STDERR, STDOUT, open_exec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from devctl.client.streams.whole import WholeStream
    from devctl.kube.cluster import Cluster


@dataclass(frozen=True)
class Executed:
    """A command that has ended.

    Attributes:
        exit_code: Its exit code.
        output: What it wrote to standard output.
        errors: What it wrote to standard error.
    """

    exit_code: int
    output: bytes
    errors: bytes

    @property
    def stdout(self) -> str:
        """Its output as text; what is none is marked as such."""
        return self.output.decode(errors="replace")

    @property
    def stderr(self) -> str:
        """The same of standard error."""
        return self.errors.decode(errors="replace")


class Execute:
    """Runs commands in servers; no shell takes their arguments apart.

    client.execute("lab", ["nproc"]).stdout
    client.execute("lab", ["sh", "-c", "echo $RANK"], replica=1).stdout
    """

    def __init__(self, cluster: Cluster) -> None:
        """Ask nothing yet."""
        self._cluster = cluster

    def __call__(
        self, name: str, argv: Sequence[str], *, replica: int = 0, feed: bytes | None = None
    ) -> Executed:
        """Run a command to its end.

        Args:
            name: The server.
            argv: The command and its arguments.
            replica: Which of the server's pods, from 0.
            feed: What it reads from standard input; else that is empty.

        Raises:
            NotFoundError: There is no such server or replica.
            ConnectionLostError: The connection is lost, or the end of what the command has printed.
            DevctlError: The server does not run.
        """
        output, errors = bytearray(), bytearray()
        with self._open(name, argv, replica, reads=feed is not None) as stream:
            if feed is not None:
                exec_pump.feed_bytes(stream, feed)
            for channel, data in stream.read():
                if channel == STDOUT:
                    output += data
                elif channel == STDERR:
                    errors += data
            return Executed(stream.exit_code, bytes(output), bytes(errors))

    def attached(  # noqa: PLR0913 - what, where and with which descriptors
        self,
        name: str,
        argv: Sequence[str],
        output: int,
        errors: Callable[[bytes], object],
        *,
        replica: int = 0,
        source: int | None = None,
        terminal: bool = False,
    ) -> int:
        """Run a command with descriptors of this process as its own.

        Args:
            name: The server.
            argv: The command and its arguments.
            output: Where its output goes.
            errors: Takes what it writes to standard error; a terminal makes that output, too.
            replica: Which of the server's pods, from 0.
            source: What it reads; else nothing.
            terminal: Whether it gets a terminal of its own, as large as the one that `source` is.

        Returns:
            The command's exit code.

        Raises:
            ConnectionLostError: The connection is lost, or the end of what the command has printed.
        """
        if source is not None and terminal:
            pod, place = self._pod(name, argv, replica)
            with (
                open_exec(self._cluster, pod, list(argv), place, stdin=True, tty=True) as stream,
                raw(source, stream.resize),
            ):
                exec_pump.feed(stream, source)
                return exec_pump.drain(stream, output, errors)
        with self._open(name, argv, replica, reads=source is not None) as whole:
            if source is not None:
                exec_pump.feed(whole, source)
            return exec_pump.drain(whole, output, errors)

    def _open(self, name: str, argv: Sequence[str], replica: int, *, reads: bool) -> WholeStream:
        pod, namespace = self._pod(name, argv, replica)
        return open_whole(self._cluster, pod, argv, namespace, reads=reads)

    def _pod(self, name: str, argv: Sequence[str], replica: int) -> tuple[str, str]:
        """The name and the namespace of a replica's pod."""
        if not argv:
            raise UsageError("no command is named", "name one, for example `nvidia-smi`")
        pod = running_pod(self._cluster, name, replica)["metadata"]
        return pod["name"], pod["namespace"]
