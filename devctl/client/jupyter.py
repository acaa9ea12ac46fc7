"""Jupyter in a server, and its address on this machine."""

from __future__ import annotations

import secrets
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from devctl.client.streams.pods import running_pod
from devctl.client.streams.port_forwards import Forward
from devctl.errors import DevctlError, UsageError, WaitTimeoutError
from devctl.kube.pod_streams import open_exec, open_port_forward
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.client.streams.port_forwards import ForwardedPort
    from devctl.kube.cluster import Cluster, Object
    from devctl.kube.pod_streams import ExecStream

HOME = "/home/dev"
TIMEOUT = 120.0
"""Seconds until it has to answer: its imports may be on a slow volume."""
_POLL = 0.5
_PORTS = range(20000, 29000)
"""Ports in the server that are unlikely to be in use."""
_LAST = 20
"""How many lines of its output are kept."""
_GRACE = 5.0
"""Seconds that it gets to shut down."""
_SCRIPT = ("/bin/sh", "/opt/devctl/jupyter")


@dataclass(frozen=True)
class Jupyter:
    """A Jupyter that answers: its address here with the token, its port there and its port here."""

    url: str
    port: int
    forwarded: ForwardedPort
    _ended: threading.Event
    _said: list[str]

    def wait(self) -> None:
        """Wait until it ends in the server, and raise a DevctlError that says so."""
        self._ended.wait()
        raise DevctlError(f"Jupyter has ended in the server{_last(self._said)}", "start it again")


@contextmanager
def jupyter(  # noqa: PLR0913 - each is a choice of the caller
    cluster: Cluster,
    name: str,
    *,
    replica: int = 0,
    folder: str = HOME,
    local: int = 0,
    keep: bool = False,
    seconds: float = TIMEOUT,
) -> Iterator[Jupyter]:
    """Jupyter in a folder of a server, for as long as a `with` block lasts, or longer with `keep`.

    It has `seconds` to answer; `local` is its port here, 0 for any free one.

    Raises:
        DevctlError: It cannot be started.
        WaitTimeoutError: It does not answer in time.
    """
    if not folder.startswith("/"):
        raise UsageError(f"`{folder}` is not an absolute path", f"write {HOME}/{folder}")
    pod = running_pod(cluster, name, replica)
    port, token = secrets.choice(_PORTS), secrets.token_urlsafe(24)
    argv = [*_SCRIPT, "keep" if keep else "leave", folder, str(port)]
    meta = pod["metadata"]
    with (
        Forward(cluster)(name, port, local, replica=replica) as forwarded,
        open_exec(cluster, meta["name"], argv, meta["namespace"], stdin=True) as stream,
    ):
        # Standard input shows up neither in process lists nor in audit logs.
        stream.write(f"{token}\n".encode())
        started = _Started(stream, name)
        if keep:
            started.left_running()
        _wait_until_it_answers(cluster, pod, port, started, seconds, kept=keep)
        url = f"http://127.0.0.1:{forwarded.local}/?{urlencode({'token': token})}"
        ended = threading.Event() if keep else started.ended
        try:
            yield Jupyter(url, port, forwarded, ended, started.said)
        finally:
            if not started.ended.is_set():
                # The script ends Jupyter when its input ends.
                with suppress(DevctlError):
                    stream.close_stdin()
                started.ended.wait(_GRACE)


class _Started:
    """The script, and what it prints."""

    def __init__(self, stream: ExecStream, server: str) -> None:
        self.ended = threading.Event()
        self.said: list[str] = []
        self._failure: DevctlError | None = None
        self._code = 0
        self._stream, self._server = stream, server
        threading.Thread(target=self._read, name="jupyter", daemon=True).start()

    def left_running(self) -> None:
        """Wait until the script has started Jupyter and ended."""
        self._stream.close_stdin()
        self.ended.wait()
        if self._code or self._failure:
            raise self.failure()

    def failure(self) -> DevctlError:
        """Why it has ended."""
        if self._failure:
            return self._failure
        # The script's own errors have both lines.
        for first, second in zip(self.said, [*self.said[1:], ""], strict=False):
            if first.startswith("error: "):
                return DevctlError(
                    first.removeprefix("error: "), second.strip().removeprefix("fix: ")
                )
        last = self.said[-1] if self.said else f"exit code {self._code}"
        return DevctlError(
            f"Jupyter does not start: {last}",
            f"see what it needs with `devctl exec {self._server} -- jupyter lab`",
        )

    def _read(self) -> None:
        rest = b""

        def heard(data: bytes) -> None:
            nonlocal rest
            *lines, rest = (rest + bytes(data)).split(b"\n")
            texts = (readable(line.decode(errors="replace").rstrip()) for line in lines)
            self.said += filter(None, texts)
            del self.said[:-_LAST]

        try:
            for _, data in self._stream.read():
                heard(data)
            self._code = self._stream.exit_code
        except DevctlError as error:
            self._failure = error
        finally:
            heard(b"\n")
            self.ended.set()


def _wait_until_it_answers(  # noqa: PLR0913 - what, how, and how long
    cluster: Cluster, pod: Object, port: int, started: _Started, seconds: float, *, kept: bool
) -> None:
    until = time.monotonic() + seconds
    while True:
        if started.ended.is_set() and not kept:
            raise started.failure()
        if _answers(cluster, pod, port):
            return
        if time.monotonic() >= until:
            raise WaitTimeoutError(
                f"Jupyter does not answer after {seconds:.0f} s{_last(started.said)}",
                "see ~/.devctl/jupyter.log in the server" if kept else "try again with more time",
            )
        time.sleep(_POLL)


def _answers(cluster: Cluster, pod: Object, port: int) -> bool:
    meta = pod["metadata"]
    try:
        with open_port_forward(cluster, meta["name"], port, meta["namespace"]) as stream:
            # Anyone may ask for its version.
            stream.write(b"GET /api HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
            return bytes(stream.read()).startswith(b"HTTP/1.")
    except DevctlError:
        return False


def _last(said: list[str]) -> str:
    return f": {said[-1]}" if said else ""
