"""A command in a server, as a program runs one: what it printed, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from devctl.client.streams import exec_pump
from devctl.client.streams.exec_pod import running_pod
from devctl.client.streams.terminal import raw
from devctl.errors import UsageError
from devctl.kube.exec_stream import STDERR, STDOUT, open_exec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from devctl.kube.cluster import Cluster
    from devctl.kube.exec_stream import ExecStream


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
            ConnectionLostError: The connection is lost, and the command's end unknown.
            DevctlError: The server does not run.
        """
        output, errors = bytearray(), bytearray()
        with self._open(name, argv, replica, stdin=feed is not None, tty=False) as stream:
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
        """
        reads = source is not None
        with self._open(name, argv, replica, stdin=reads, tty=terminal) as stream:
            if source is None:
                return exec_pump.drain(stream, output, errors)
            if not terminal:
                exec_pump.feed(stream, source)
                return exec_pump.drain(stream, output, errors)
            with raw(source, stream.resize):
                exec_pump.feed(stream, source)
                return exec_pump.drain(stream, output, errors)

    def _open(
        self, name: str, argv: Sequence[str], replica: int, *, stdin: bool, tty: bool
    ) -> ExecStream:
        if not argv:
            raise UsageError("no command is named", "name one, for example `nvidia-smi`")
        pod = running_pod(self._cluster, name, replica)["metadata"]
        return open_exec(
            self._cluster, pod["name"], list(argv), pod["namespace"], stdin=stdin, tty=tty
        )
