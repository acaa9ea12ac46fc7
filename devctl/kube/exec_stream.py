"""A command in a container: its input, its output and its end, over one WebSocket."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from devctl.errors import ConnectionLostError, DevctlError
from devctl.kube.channels import connect_pod
from devctl.kube.failures import one_line, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from devctl.kube.cluster import Cluster
    from devctl.kube.websocket import WebSocket

__all__ = [
    "CLOSE",
    "CONTAINER",
    "ERROR",
    "RESIZE",
    "STDERR",
    "STDIN",
    "STDOUT",
    "ExecStream",
    "open_exec",
]

CONTAINER = "server"
"""The container of a server's pod that people work in."""
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
_PROTOCOL = "v5.channel.k8s.io"
_LARGEST = 64 * 1024
_NOT_RUNNING = ("container not found", "not running", "in a stopped state")


class ExecStream:
    """A command that runs; one thread may read while another writes.

    with open_exec(cluster, "my-server-0", ["cat"], stdin=True) as stream:
        stream.write(b"hello")
        stream.close_stdin()
        for channel, data in stream.read():
            ...
    stream.exit_code
    """

    def __init__(self, socket: WebSocket, about: str) -> None:
        """Take over a connection; `about` says in errors what runs where."""
        self._socket = socket
        self._about = about
        self._exit_code: int | None = None
        self._input_open = True

    def __enter__(self) -> Self:
        """Nothing more to do: it runs."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Hang up; what still runs there loses its input and output."""
        self.close()

    @property
    def exit_code(self) -> int:
        """The command's exit code, once `read` has ended.

        Raises:
            ConnectionLostError: It has not ended before our eyes.
        """
        if self._exit_code is None:
            raise self._lost("it has not ended")
        return self._exit_code

    def write(self, data: bytes) -> None:
        """Feed the command; waits while it takes nothing.

        Raises:
            ConnectionLostError: Nobody is there any more.
        """
        view = memoryview(data)
        for begin in range(0, len(view), _LARGEST):
            self._socket.send(bytes([STDIN]), view[begin : begin + _LARGEST])

    def close_stdin(self) -> None:
        """Tell the command that its input ends; twice does no harm."""
        if self._input_open:
            self._input_open = False
            self._socket.send(bytes([CLOSE, STDIN]))

    def resize(self, columns: int, rows: int) -> None:
        """Tell the command's terminal how large ours is."""
        size = json.dumps({"Width": columns, "Height": rows}).encode()
        self._socket.send(bytes([RESIZE]), size)

    def read(self) -> Iterator[tuple[int, bytes]]:
        """What the command prints, as (STDOUT or STDERR, bytes), until it ends.

        Raises:
            ConnectionLostError: The connection has ended before the command has.
            DevctlError: The command could not be started.
        """
        while (message := self._socket.receive()) is not None:
            if len(message) <= 1:
                continue  # each channel is opened with an empty message
            channel = message[0]
            if channel == ERROR:
                self._exit_code = self._end(bytes(message[1:]))
                return
            yield channel, message[1:]
        raise self._lost("it was closed")

    def close(self) -> None:
        """Hang up; from any thread, and more than once."""
        self._socket.close()

    def _end(self, body: bytes) -> int:
        try:
            status: dict[str, Any] = json.loads(body)
        except ValueError as error:
            raise DevctlError(
                f"{self._about} ended in a way that nobody understands: "
                f"{one_line(body.decode(errors='replace'))}",
                "repeat the command; see `devctl doctor`",
            ) from error
        if status.get("status") == "Success":
            return 0
        if status.get("reason") == "NonZeroExitCode":
            for cause in (status.get("details") or {}).get("causes") or []:
                if cause.get("reason") == "ExitCode":
                    return int(cause["message"])
        raise _not_started(self._about, status)

    def _lost(self, why: str) -> ConnectionLostError:
        return ConnectionLostError(
            f"the connection to {self._about} was lost: {why}",
            "the pod may have ended: see `devctl describe`",
        )


def open_exec(  # noqa: PLR0913 - where, what and with what are each a choice of the caller
    cluster: Cluster,
    pod: str,
    argv: Sequence[str],
    namespace: str | None = None,
    *,
    container: str = CONTAINER,
    stdin: bool = False,
    tty: bool = False,
) -> ExecStream:
    """Start a command in a container, else a server's; no shell takes its arguments apart.

    Args:
        cluster: Where the pod is.
        pod: Its name.
        argv: The command and its arguments.
        namespace: The pod's namespace; else the user's.
        container: The container of the pod.
        stdin: Whether it gets an input; else it is at its end from the start.
        tty: Whether it gets a terminal; its two outputs are one then.

    Raises:
        NotFoundError: There is no such pod.
        DeniedError: The user may not run commands in it.
        ConnectionLostError: There is no connection.
    """
    query = [
        ("container", container),
        ("stdin", str(stdin).lower()),
        ("stdout", "true"),
        ("stderr", str(not tty).lower()),
        ("tty", str(tty).lower()),
        *(("command", word) for word in argv),
    ]
    socket = connect_pod(cluster, pod, "exec", query, [_PROTOCOL], namespace)
    return ExecStream(socket, f"pod `{pod}`")


def _not_started(about: str, status: dict[str, Any]) -> DevctlError:
    """Why a command has no exit code."""
    said = one_line(str(status.get("message") or status.get("reason") or "no reason given"))
    _, begun, why = said.rpartition("unable to start container process: ")
    if begun:
        missing = "executable file not found" in why or "no such file" in why
        if why.startswith("exec"):
            error = DevctlError(
                f"{about} cannot run that: {why.removeprefix('exec: ')}",
                "check its spelling, or install it there" if missing else "name a program there",
            )
        else:  # the container's runtime did not come as far as the program
            error = DevctlError(f"{about} could not start it: {why}", "repeat the command")
        error.exit_code = 127 if missing else 126  # as a shell says it
        return error
    if any(words in said for words in _NOT_RUNNING):
        return ConnectionLostError(
            f"{about} does not run: {said}", "see `devctl describe` for why, or start it"
        )
    if status.get("code"):
        return refusal(status)
    return DevctlError(f"{about}: {said}", "see `devctl describe`")
