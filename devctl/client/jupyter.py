"""Jupyter in a server, and its address on this machine."""

from __future__ import annotations

import secrets
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from devctl.client.objects import Collection
from devctl.client.streams.pods import running_pod
from devctl.client.streams.port_forwards import Forward
from devctl.errors import DevctlError, UsageError, WaitTimeoutError
from devctl.kube.pod_streams import open_exec, open_port_forward
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devctl.client.streams.port_forwards import ForwardedPort
    from devctl.kube.pod_streams import ExecStream, PortStream

HOME = "/home/dev"
TIMEOUT = 120.0
"""Seconds until it has to answer: its imports may be on a slow volume."""
_POLL = 0.5
_PORTS = range(20000, 29000)
"""Ports in the server that are unlikely to be in use."""
_KEPT = 4096
"""How many of the last bytes of its output are kept."""
_GRACE = 5.0
"""Seconds that it gets to shut down."""
_SCRIPT = ("/bin/sh", "/opt/devctl/jupyter")


@dataclass(frozen=True)
class Jupyter:
    """A Jupyter that answers: its URL with the token, its port there, and that port here."""

    url: str
    port: int
    forwarded: ForwardedPort
    _ended: threading.Event
    _script: _Script

    def wait(self) -> None:
        """Wait until it ends in the server, and raise a DevctlError that says so."""
        self._ended.wait()
        raise DevctlError(f"Jupyter has ended in the server{self._script.last()}", "start it again")


class StartJupyter(Collection):
    """Starts Jupyter in servers.

    with client.jupyter("lab") as jupyter:
        print(jupyter.url)
    """

    @contextmanager
    def __call__(
        self,
        server: str,
        folder: str = HOME,
        *,
        replica: int = 0,
        port: int = 0,
        keep: bool = False,
    ) -> Iterator[Jupyter]:
        """Jupyter in a server, for as long as a `with` block lasts.

        Args:
            server: Its name.
            folder: An absolute path in the server.
            replica: Which pod.
            port: The port on this machine; 0 for any free one.
            keep: Leave it running after the block.

        Raises:
            DevctlError: It cannot be started.
            WaitTimeoutError: It does not answer in time.
        """
        if not folder.startswith("/"):
            raise UsageError(f"`{folder}` is not an absolute path", f"write {HOME}/{folder}")
        pod = running_pod(self._cluster, server, replica)["metadata"]
        place = pod["name"], pod["namespace"]
        there, token = secrets.choice(_PORTS), secrets.token_urlsafe(24)
        argv = [*_SCRIPT, "keep" if keep else "leave", folder, str(there)]
        with (
            Forward(self._cluster)(server, there, port, replica=replica) as forwarded,
            open_exec(self._cluster, place[0], argv, place[1], stdin=True) as stream,
        ):
            # Standard input shows up neither in process lists nor in audit logs.
            stream.write(f"{token}\n".encode())
            script = _Script(stream, server)
            if keep:
                script.left_running()
            connect = partial(open_port_forward, self._cluster, place[0], there, place[1])
            _wait_until_it_answers(connect, script, kept=keep)
            url = f"http://127.0.0.1:{forwarded.local}/?{urlencode({'token': token})}"
            ended = threading.Event() if keep else script.ended
            try:
                yield Jupyter(url, there, forwarded, ended, script)
            finally:
                if not script.ended.is_set():
                    # The script ends Jupyter when its input ends.
                    with suppress(DevctlError):
                        stream.close_stdin()
                    script.ended.wait(_GRACE)


class _Script:
    """The script that starts Jupyter, and the end of what it prints."""

    def __init__(self, stream: ExecStream, server: str) -> None:
        self.ended = threading.Event()
        self._printed = b""
        self._failure: DevctlError | None = None
        self._stream, self._server = stream, server
        threading.Thread(target=self._read, name="jupyter", daemon=True).start()

    def left_running(self) -> None:
        """Wait until the script has started Jupyter and ended."""
        self._stream.close_stdin()
        self.ended.wait()
        if self._failure or self._stream.exit_code:
            raise self.failure()

    def failure(self) -> DevctlError:
        """Why it has ended."""
        if self._failure:
            return self._failure
        lines = self._lines()
        # The script's own errors have both lines.
        for first, second in zip(lines, [*lines[1:], ""], strict=True):
            if first.startswith("error: "):
                fix = second.strip().removeprefix("fix: ")
                return DevctlError(first.removeprefix("error: "), fix)
        return DevctlError(
            f"Jupyter does not start{self.last() or f': exit code {self._stream.exit_code}'}",
            f"see what it needs with `devctl exec {self._server} -- jupyter lab`",
        )

    def last(self) -> str:
        """Its last line, if any, to append to an error."""
        return "".join(f": {line}" for line in self._lines()[-1:])

    def _lines(self) -> list[str]:
        lines = self._printed.decode(errors="replace").split("\n")
        return [readable(line.rstrip()) for line in lines if line.strip()]

    def _read(self) -> None:
        try:
            for _, data in self._stream.read():
                self._printed = (self._printed + data)[-_KEPT:]
        except DevctlError as error:
            self._failure = error
        finally:
            self.ended.set()


def _wait_until_it_answers(
    connect: Callable[[], PortStream], script: _Script, *, kept: bool
) -> None:
    until = time.monotonic() + TIMEOUT
    while True:
        if script.ended.is_set() and not kept:
            raise script.failure()
        if _answers(connect):
            return
        if time.monotonic() >= until:
            raise WaitTimeoutError(
                f"Jupyter does not answer after {TIMEOUT:.0f} s{script.last()}",
                "see ~/.devctl/jupyter.log in the server" if kept else "try again with more time",
            )
        time.sleep(_POLL)


def _answers(connect: Callable[[], PortStream]) -> bool:
    try:
        with connect() as stream:
            # Anyone may ask for its version.
            stream.write(b"GET /api HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
            return bytes(stream.read()).startswith(b"HTTP/1.")
    except DevctlError:
        return False
