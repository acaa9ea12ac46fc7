r"""A command in a server, run to its end: either every byte arrives, or an error says it did not.

Kubernetes drops what is still on its way when a command ends, and calls it a success
(docs/decisions/0008). So a shell in the pod starts the command, and puts a mark behind both of its
outputs. If the command reads nothing, the shell then waits until its own input ends, which happens
once both marks have arrived. If it does read, a missing mark is all that can be noticed.

No shell splits the command's words: they are arguments of a constant script.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from devctl.client.objects import Collection
from devctl.client.streams import stdio
from devctl.client.streams.pods import running_pod
from devctl.errors import ConnectionLostError, UsageError
from devctl.kube.pod_streams import STDERR, STDOUT, open_exec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from devctl.kube.cluster import Cluster

_NOT_THERE = b"!"
"""What follows a mark if there is no such program, in place of a dot."""

# Arguments: mark, whether the input is the command's, whether the command counts as activity (the
# node's agent looks at the time of the file), command. A program that the shell cannot run
# is left to the container's runtime, which says why. `exec` takes programs, never builtins of the
# shell. Lists of processes show the first line.
SCRIPT = r"""# devctl exec
mark=$1 reads=$2
[ "$3" != yes ] || true 2>/dev/null >/run/devctl/used
shift 3
case $1 in
  */*) [ -f "$1" ] && [ -x "$1" ] ;;
  *) command -v -- "$1" >/dev/null 2>&1 ;;
esac || { printf '\0%s!' "$mark"; exit 127; }
[ "$reads" = yes ] || exec 3<&0 </dev/null
(exec 3<&-; exec "$@")
code=$?
printf '\0%s.' "$mark"
printf '\0%s.' "$mark" >&2
if [ "$reads" != yes ]; then while read -r _; do :; done <&3; fi
exit $code
"""


@dataclass(frozen=True)
class Executed:
    """A command that has ended, and what it wrote."""

    exit_code: int
    output: bytes
    errors: bytes

    @property
    def stdout(self) -> str:
        """Its output as text; invalid bytes are replaced."""
        return self.output.decode(errors="replace")

    @property
    def stderr(self) -> str:
        """Its standard error as text."""
        return self.errors.decode(errors="replace")


class Execute(Collection):
    """Runs commands in servers; no shell splits their arguments.

    client.execute("lab", ["nproc"]).stdout
    client.execute("lab", ["sh", "-c", "echo $RANK"], replica=1).stdout
    """

    def __call__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        replica: int = 0,
        feed: bytes | None = None,
        is_activity: bool = True,
    ) -> Executed:
        """Run a command in a replica, from 0, to its end; it reads what it is fed, if anything.

        A command that only watches a server is not activity, so that it does not keep it running.

        ConnectionLostError if the connection, or the end of the command's output, was lost;
        DevctlError if the server does not run.
        """
        pod, place = self._pod(name, argv, replica)
        return execute_in(self._cluster, pod, place, argv, feed=feed, is_activity=is_activity)

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
        """Run a command with descriptors of this process, `source` and `output`; its exit code.

        Its terminal, if it gets one, is as large as the one that `source` is; standard error is
        then a part of the output. Errors are those of a plain call.
        """
        pod, place = self._pod(name, argv, replica)
        if source is not None and terminal:
            stream = open_exec(self._cluster, pod, list(argv), place, stdin=True, tty=True)
            return stdio.drain_terminal(stream, source, output, errors)
        with WholeStream(self._cluster, pod, place, argv, reads=source is not None) as whole:
            if source is not None:
                stdio.feed(whole, source)
            stdio.drain(whole.read(), output, errors)
            return whole.exit_code

    def _pod(self, name: str, argv: Sequence[str], replica: int) -> tuple[str, str]:
        """The name and the namespace of a replica's pod."""
        if not argv:
            raise UsageError("no command is given", "give one, for example `nvidia-smi`")
        pod = running_pod(self._cluster, name, replica)["metadata"]
        return pod["name"], pod["namespace"]


def execute_in(  # noqa: PLR0913 - what, where and how
    cluster: Cluster,
    pod: str,
    namespace: str,
    argv: Sequence[str],
    *,
    feed: bytes | None = None,
    is_activity: bool = True,
) -> Executed:
    """Run a command in a server's pod, to its end; see Execute."""
    said = {STDOUT: bytearray(), STDERR: bytearray()}
    reads = feed is not None
    with WholeStream(cluster, pod, namespace, argv, reads=reads, is_activity=is_activity) as stream:
        if feed is not None:
            stdio.feed(stream, feed)
        for channel, data in stream.read():
            said[channel] += data
        return Executed(stream.exit_code, bytes(said[STDOUT]), bytes(said[STDERR]))


class Mark:
    r"""Finds a mark in an output, and takes it out; `held` is what could be its beginning.

    >>> mark = Mark(b"key")
    >>> mark.take(b"a\0ke"), mark.take(b"y."), mark.found
    (b'a', b'', b'.')
    """

    def __init__(self, key: bytes) -> None:
        """Find nothing yet."""
        self._mark = b"\0" + key
        self.found = self.held = b""

    def take(self, data: bytes) -> bytes:
        """The part of an output that is not the mark, as far as that is known."""
        if self.found:
            return data
        text = self.held + data
        at = text.find(self._mark)
        if at < 0:
            # Its first byte occurs in it only once.
            at = text.rfind(b"\0", max(0, len(text) - len(self._mark)))
            begun = at >= 0 and self._mark.startswith(text[at:])
            self.held = text[at:] if begun else b""
            return text[:at] if begun else text
        end = at + len(self._mark) + 1
        if len(text) < end:
            self.held = text[at:]
            return text[:at]
        self.found, self.held = text[end - 1 : end], b""
        return text[:at] + text[end:]


class WholeStream(AbstractContextManager["WholeStream"]):
    """A running command, like devctl.kube.pod_streams.ExecStream but without a terminal."""

    def __init__(  # noqa: PLR0913 - what, where and how
        self,
        cluster: Cluster,
        pod: str,
        namespace: str,
        argv: Sequence[str],
        *,
        reads: bool,
        is_activity: bool = True,
    ) -> None:
        """Start a command in a server's container; unless it reads, its input is empty."""
        self._key, self._reads = os.urandom(16).hex(), reads
        self._plain = partial(open_exec, cluster, pod, list(argv), namespace, stdin=reads)
        flags = ["yes" if flag else "no" for flag in (reads, is_activity)]
        words = ["/bin/sh", "-c", SCRIPT, "devctl", self._key, *flags, *argv]
        self._stream = open_exec(cluster, pod, words, namespace, stdin=True)

    def __exit__(self, *_error: object) -> None:
        """Hang up."""
        self._stream.close()

    @property
    def exit_code(self) -> int:
        """The command's exit code, once `read` has ended."""
        return self._stream.exit_code

    def write(self, data: bytes) -> None:
        """Feed the command."""
        self._stream.write(data)

    def close_stdin(self) -> None:
        """End the command's input."""
        self._stream.close_stdin()

    def read(self) -> Iterator[tuple[int, bytes]]:
        """What the command prints, as (STDOUT or STDERR, bytes), until it ends.

        ConnectionLostError, with the command's exit code if it has failed, if not all has come.
        """
        marks = {channel: Mark(self._key.encode()) for channel in (STDOUT, STDERR)}
        waits = not self._reads
        for channel, data in self._stream.read():
            if piece := marks[channel].take(bytes(data)):
                yield channel, piece
            if waits and all(mark.found for mark in marks.values()):
                waits = False
                self._stream.close_stdin()
        if marks[STDOUT].found == _NOT_THERE:
            self._stream.close()
            self._stream = self._plain()
            yield from self._stream.read()
            return
        yield from ((channel, mark.held) for channel, mark in marks.items() if mark.held)
        if not all(mark.found for mark in marks.values()):
            error = ConnectionLostError(
                "the end of what it has printed did not arrive",
                "read it without pauses, have it written to a file and fetch that with"
                " `devctl cp`, or run it by `devctl ssh`",
            )
            error.exit_code = self._stream.exit_code or error.exit_code
            raise error
