"""Bytes to and from a command in a pod, and the progress that people see of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from devctl.errors import ConnectionLostError, DevctlError
from devctl.kube.pod_streams import STDOUT, open_exec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from devctl.client.files.remote import Place
    from devctl.kube.pod_streams import ExecStream

Send = Callable[[bytes], None]
"""Sends bytes to the command."""
Feed = Callable[[Send], None]
"""Sends the command its whole input."""
Progress = Callable[[int], None]
"""Takes the number of bytes that have just moved."""

READY = b"+"
"""What a command that reads input prints first, once it has found everything that it needs."""
_MOST_ERRORS = 256 * 1024
_SOON, _PATIENCE = 1.0, 30.0
"""Seconds for the sender to notice the command's end, and to finish with a file."""
_STEP = 1000
_BLOCK = 512


@runtime_checkable
class Expecting(Protocol):
    """Progress that also takes the number of bytes that are going to move."""

    def expect(self, count: int) -> None:
        """Announce so many more bytes."""


def expect(progress: Progress | None, sizes: Iterable[int], *, packed: bool = False) -> None:
    """Announce the sizes of files that are going to move, or about those when packed by `tar`."""
    if isinstance(progress, Expecting):
        # An archive has a header for each file, and fills up its last block.
        progress.expect(
            sum(_BLOCK + -(-size // _BLOCK) * _BLOCK if packed else size for size in sizes)
        )


def amount(size: float) -> str:
    """A number of bytes for people.

    >>> amount(5), amount(34_000), amount(1_250_000)
    ('5 B', '34 KB', '1.2 MB')
    """
    value, unit = float(size), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if value < _STEP - 0.5:
            break
        value, unit = value / _STEP, larger
    short = unit == "B" or value >= 9.95  # noqa: PLR2004 - two digits say enough
    return f"{value:.0f} {unit}" if short else f"{value:.1f} {unit}"


def total(files: int, size: int) -> str:
    """A number of files and their bytes, for people."""
    return f"{files:,} file{'' if files == 1 else 's'}, {amount(size)}"


class _EndedError(Exception):
    """The command has ended, and reads no more."""


class Transfer:
    """A running command; iterating over it once gives what it prints.

    Then `code` is its exit code, and `errors` the first part of its standard error.
    """

    def __init__(self, stream: ExecStream, feed: Feed | None = None, *, held: bool = False) -> None:
        """Take over the command's stream; `held` keeps its input open until `release`."""
        self._stream, self._feed = stream, feed
        self._ended, self._released = threading.Event(), threading.Event()
        if not held:
            self._released.set()
        self._failure: BaseException | None = None
        self._feeder: threading.Thread | None = None
        self.code = -1
        self.errors = b""

    def release(self) -> None:
        """End the command's input; what it prints but has not been read by then may get lost."""
        self._released.set()

    def __iter__(self) -> Iterator[bytes]:
        """What the command prints, until it ends.

        ConnectionLostError if the connection was lost. What `feed` raises is raised here, and the
        command is sent no more.
        """
        lost = None
        try:
            for channel, data in self._stream.read():
                if channel == STDOUT:
                    if piece := self._started(bytes(data)):
                        yield piece
                else:
                    self.errors = (self.errors + bytes(data))[:_MOST_ERRORS]
            self.code = self._stream.exit_code
        except ConnectionLostError as error:
            lost = error
        finally:
            self._ended.set()
        self._settle()
        # If the connection was lost, what was to be sent may be the cause.
        if failure := self._failure or lost:
            raise failure

    def _started(self, piece: bytes) -> bytes:
        """Start feeding the command once it is ready; its output without the mark."""
        if self._feed is None or self._feeder is not None:
            return piece
        if not piece.startswith(READY):
            raise DevctlError(
                "the pod gave an answer that nobody asked for",
                "check that its `sh` is a plain one, which prints nothing by itself",
            )
        self._feeder = threading.Thread(target=self._send_all, args=(self._feed,), daemon=True)
        self._feeder.start()
        return piece.removeprefix(READY)

    def _settle(self) -> None:
        """Wait for the sender, which sends nothing more but may be reading a file."""
        self._ended.set()
        self._released.set()
        if self._feeder is None:
            return
        self._feeder.join(_SOON)
        if self._feeder.is_alive():
            # Nobody reads what it sends any more.
            self._stream.close()
            self._feeder.join(_PATIENCE)

    def _send_all(self, feed: Feed) -> None:
        try:
            feed(self._send)
            self._released.wait()
        except (_EndedError, ConnectionLostError):
            # The exit code, or the reading side, says why.
            return
        except BaseException as error:  # noqa: BLE001 - it is raised where the command is read
            self._failure = error
        # Even after a failure: the command rejects incomplete input, and ends.
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
def transfer(
    place: Place, script: str, *arguments: str, feed: Feed | None = None, held: bool = False
) -> Iterator[Transfer]:
    """Run a script in a pod for the length of a `with` block, given a place's path and arguments.

    `feed` sends the input from a thread of its own once the script has printed READY. The input
    ends when it returns or, if `held`, once the transfer is released.
    """
    argv = ["sh", "-c", script, "devctl", place.path, *arguments]
    with open_exec(
        place.cluster,
        place.pod,
        argv,
        place.namespace,
        container=place.container,
        stdin=feed is not None,
    ) as stream:
        command = Transfer(stream, feed, held=held)
        try:
            yield command
        finally:
            command.release()
