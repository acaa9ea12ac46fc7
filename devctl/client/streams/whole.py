r"""A command of which every byte arrives, or it is said that some did not.

Kubernetes drops what is still on its way when a command ends, and calls it a success
(docs/decisions/0008). So a shell in the pod starts the command, and puts a mark behind both of its
outputs. Where the command reads nothing, the shell then waits until its own input ends: it ends
once both marks are here. Where it does read, a mark that is missing is all that can be told.

No shell takes the command's words apart: they are arguments of a constant script.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self

from devctl.errors import ConnectionLostError
from devctl.kube.pod_streams import STDERR, STDOUT, open_exec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from devctl.kube.cluster import Cluster
    from devctl.kube.pod_streams import ExecStream

_ENDED, _NOT_THERE = b".", b"!"
"""What stands behind a mark: the output ends here, or there is no such program."""

# Arguments: mark, whether the input is the command's, command. A program that the shell cannot run
# is left to the container's runtime, which says why. `exec` takes programs, never a word that the
# shell knows itself. The first line is what lists of processes show of it.
SCRIPT = r"""# devctl exec
mark=$1 reads=$2
shift 2
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


class Mark:
    r"""Finds a mark in an output, and takes it out.

    >>> mark = Mark(b"key")
    >>> mark.take(b"a\0ke"), mark.take(b"y."), mark.found
    (b'a', b'', b'.')
    """

    def __init__(self, key: bytes) -> None:
        """Find nothing yet."""
        self._mark = b"\0" + key
        self._held = b""
        self.found = b""

    def take(self, data: bytes) -> bytes:
        """What of an output is not the mark, as far as that is known."""
        if self.found:
            return data
        text = self._held + data
        at = text.find(self._mark)
        if at < 0:
            # Its first byte is nowhere else in it.
            at = text.rfind(b"\0", max(0, len(text) - len(self._mark)))
            begun = at >= 0 and self._mark.startswith(text[at:])
            self._held = text[at:] if begun else b""
            return text[:at] if begun else text
        end = at + len(self._mark) + 1
        if len(text) < end:
            self._held = text[at:]
            return text[:at]
        self.found, self._held = text[end - 1 : end], b""
        return text[:at] + text[end:]

    def rest(self) -> bytes:
        """What was kept back, as it could have been the mark."""
        return self._held


class WholeStream:
    """A command that runs, as devctl.kube.pod_streams.ExecStream has one, but for a terminal."""

    def __init__(
        self, stream: ExecStream, key: bytes, plain: Callable[[], ExecStream], *, reads: bool
    ) -> None:
        """Take over a stream.

        Args:
            stream: Of SCRIPT.
            key: The mark that it was told.
            plain: Starts the command without SCRIPT.
            reads: Whether the input is the command's.
        """
        self._stream, self._key = stream, key
        self._plain, self._reads = plain, reads

    def __enter__(self) -> Self:
        """Nothing more to do: it runs."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        """Tell the command that its input ends."""
        self._stream.close_stdin()

    def read(self) -> Iterator[tuple[int, bytes]]:
        """What the command prints, as (STDOUT or STDERR, bytes), until it ends.

        Raises:
            ConnectionLostError: Not all has come; with the command's exit code, if it has failed.
            DevctlError: The command could not be started.
        """
        marks = {STDOUT: Mark(self._key), STDERR: Mark(self._key)}
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
        yield from ((channel, mark.rest()) for channel, mark in marks.items() if mark.rest())
        if not all(mark.found for mark in marks.values()):
            raise self._cut_off()

    def _cut_off(self) -> ConnectionLostError:
        error = ConnectionLostError(
            "the end of what it has printed did not arrive",
            "read it without pauses, have it written to a file and fetch that with `devctl cp`, or"
            " run it by `devctl ssh`",
        )
        error.exit_code = self._stream.exit_code or error.exit_code
        return error


def open_whole(
    cluster: Cluster, pod: str, argv: Sequence[str], namespace: str, *, reads: bool
) -> WholeStream:
    """Start a command in a server's container.

    Args:
        cluster: Where the pod is.
        pod: Its name.
        argv: The command and its arguments.
        namespace: The pod's namespace.
        reads: Whether it gets an input; else that is empty.
    """
    key = os.urandom(16).hex()
    words = ["/bin/sh", "-c", SCRIPT, "devctl", key, "yes" if reads else "no", *argv]

    def plain() -> ExecStream:
        return open_exec(cluster, pod, list(argv), namespace, stdin=reads)

    stream = open_exec(cluster, pod, words, namespace, stdin=True)
    return WholeStream(stream, key.encode(), plain, reads=reads)
