"""A command in a container: its input, output and end, over a WebSocket."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from devctl.errors import ConnectionLostError, DevctlError
from devctl.kube.channels import PodStream, connect_pod
from devctl.kube.failures import one_line, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from devctl.kube.cluster import Cluster

CONTAINER = "server"
"""The container of a server's pod in which people work."""
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
_PROTOCOL = "v5.channel.k8s.io"
_NOT_RUNNING = ("container not found", "not running", "in a stopped state")


class ExecStream(PodStream):
    """A running command; one thread may read while another writes.

    with open_exec(cluster, "my-server-0", ["cat"], stdin=True) as stream:
        stream.write(b"hello")
        stream.close_stdin()
        for channel, data in stream.read():
            ...
    stream.exit_code
    """

    _exit_code: int | None = None
    _input_open = True

    @property
    def exit_code(self) -> int:
        """The command's exit code, after `read`.

        Raises:
            ConnectionLostError: The command's end was not seen.
        """
        if self._exit_code is None:
            raise self._lost("it has not ended")
        return self._exit_code

    def write(self, data: bytes) -> None:
        """Send input to the command; blocks while it does not read.

        Raises:
            ConnectionLostError: The connection is closed.
        """
        self._send(STDIN, data)

    def close_stdin(self) -> None:
        """End the command's input; a second call does nothing."""
        if self._input_open:
            self._input_open = False
            self._socket.send(bytes([CLOSE, STDIN]))

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the command's terminal."""
        size = json.dumps({"Width": columns, "Height": rows}).encode()
        self._socket.send(bytes([RESIZE]), size)

    def read(self) -> Iterator[tuple[int, bytes]]:
        """The command's output as (STDOUT or STDERR, bytes), until it ends.

        Raises:
            ConnectionLostError: The connection ended before the command.
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

    def _end(self, body: bytes) -> int:
        try:
            status: dict[str, Any] = json.loads(body)
        except ValueError as error:
            raise DevctlError(
                f"{self._about} ended with a status that devctl does not understand: "
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


def open_exec(  # noqa: PLR0913 - each is a choice of the caller
    cluster: Cluster,
    pod: str,
    argv: Sequence[str],
    namespace: str | None = None,
    *,
    container: str = CONTAINER,
    stdin: bool = False,
    tty: bool = False,
) -> ExecStream:
    """Start a command in a container of a pod, without a shell.

    Its input is empty without `stdin`; with `tty`, its two outputs are one.

    Raises:
        NotFoundError: There is no such pod.
        DeniedError: The user may not run commands in it.
        ConnectionLostError: The connection failed.
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
    """The error for a command without an exit code."""
    said = one_line(str(status.get("message") or status.get("reason") or "no reason given"))
    _, begun, why = said.rpartition("unable to start container process: ")
    if begun:
        missing = "executable file not found" in why or "no such file" in why
        if why.startswith("exec"):
            error = DevctlError(
                f"{about} cannot run that: {why.removeprefix('exec: ')}",
                "check its spelling, or install it there" if missing else "name a program there",
            )
        else:  # the container runtime failed before the program
            error = DevctlError(f"{about} could not start it: {why}", "repeat the command")
        error.exit_code = 127 if missing else 126  # like a shell
        return error
    if any(words in said for words in _NOT_RUNNING):
        return ConnectionLostError(
            f"{about} does not run: {said}", "see `devctl describe` for why, or start it"
        )
    if status.get("code"):
        return refusal(status)
    return DevctlError(f"{about}: {said}", "see `devctl describe`")
