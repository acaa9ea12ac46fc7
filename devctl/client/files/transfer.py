"""A command in a pod that is sent bytes, sends some, or both at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from devctl.errors import ConnectionLostError, DevctlError
from devctl.kube.pod_streams import CONTAINER, STDOUT, open_exec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from devctl.kube.cluster import Cluster
    from devctl.kube.pod_streams import ExecStream

Send = Callable[[bytes], None]
"""Sends some bytes to the command."""
Feed = Callable[[Send], None]
"""Sends all that the command is to read."""

READY = b"+"
"""What a command that reads prints first: it is there, and has found all that it needs."""
_MOST_ERRORS = 256 * 1024
_SOON, _PATIENCE = 1.0, 30.0
"""Seconds for what sends to see that it is over, and to be done with a file."""


class _EndedError(Exception):
    """The command has ended, and reads no more."""


class Transfer:
    """A command that runs; what it prints is had by going through it once.

    Attributes:
        code: Its exit code, once all that it has printed has been had.
        errors: The first part of what it has written to standard error.
    """

    def __init__(self, stream: ExecStream, feed: Feed | None = None, *, held: bool = False) -> None:
        """Take over a stream.

        Args:
            stream: The command's.
            feed: What sends it its input.
            held: Whether its input stays open after that, until `release`.
        """
        self._stream, self._feed = stream, feed
        self._ended, self._released = threading.Event(), threading.Event()
        if not held:
            self._released.set()
        self._failure: BaseException | None = None
        self._feeder: threading.Thread | None = None
        self.code = -1
        self.errors = b""

    def release(self) -> None:
        """End the command's input: all that was wanted of it has come.

        Of what is still on its way when a command ends, not everything need arrive.
        """
        self._released.set()

    def __iter__(self) -> Iterator[bytes]:
        """What the command prints, until it ends.

        Raises:
            Exception: What `feed` has raised; the command has then been sent no more.
            ConnectionLostError: The connection is lost.
        """
        try:
            for channel, data in self._stream.read():
                if channel == STDOUT:
                    if piece := self._started(bytes(data)):
                        yield piece
                else:
                    self.errors = (self.errors + bytes(data))[:_MOST_ERRORS]
            self.code = self._stream.exit_code
        except ConnectionLostError as error:
            # What was to be sent may be why.
            self._settle()
            raise (self._failure or error) from None
        finally:
            self._ended.set()
        self._settle()
        if self._failure is not None:
            raise self._failure

    def _started(self, piece: bytes) -> bytes:
        """What a command has printed, apart from the mark that it is there; then it is fed."""
        if self._feed is None or self._feeder is not None:
            return piece
        if not piece.startswith(READY):
            raise DevctlError(
                "the pod answered something that nobody asked it",
                "see that its `sh` is a plain one, which prints nothing of its own",
            )
        self._feeder = threading.Thread(target=self._send_all, daemon=True)
        self._feeder.start()
        return piece.removeprefix(READY)

    def _settle(self) -> None:
        """Wait for what sends; it sends nothing more, but may be at a file."""
        self._ended.set()
        self._released.set()
        if self._feeder is None:
            return
        self._feeder.join(_SOON)
        if self._feeder.is_alive():
            # Nobody takes what it sends any more.
            self._stream.close()
            self._feeder.join(_PATIENCE)

    def _send_all(self) -> None:
        feed = self._feed
        assert feed  # noqa: S101 - there is a thread only where there is something to send
        try:
            feed(self._send)
            self._released.wait()
        except (_EndedError, ConnectionLostError):
            # Its exit code, or the reading side, says why.
            return
        except BaseException as error:  # noqa: BLE001 - it is raised where the command is read
            self._failure = error
        # After a failure, too: what is not whole is not taken, and the command ends.
        with suppress(Exception):
            self._stream.close_stdin()

    def _send(self, data: bytes) -> None:
        if self._ended.is_set():
            raise _EndedError
        try:
            self._stream.write(data)
        except Exception as error:
            if self._ended.is_set():
                raise _EndedError from error
            raise


@contextmanager
def transfer(  # noqa: PLR0913 - where, what and with what are each a choice of the caller
    cluster: Cluster,
    pod: str,
    namespace: str,
    argv: Sequence[str],
    feed: Feed | None = None,
    *,
    container: str = CONTAINER,
    held: bool = False,
) -> Iterator[Transfer]:
    """Run a command in a pod for as long as a `with` block lasts.

    Args:
        cluster: Where the pod is.
        pod: Its name.
        namespace: Where in the cluster.
        argv: The command and its arguments; no shell takes them apart.
        feed: What sends it its input, in a thread of its own, once it has printed READY; the input
            ends when it returns.
        container: Where it runs in the pod.
        held: Whether the input stays open after that, until the transfer is released.
    """
    reads = feed is not None
    with open_exec(cluster, pod, argv, namespace, container=container, stdin=reads) as stream:
        command = Transfer(stream, feed, held=held)
        try:
            yield command
        finally:
            command.release()
