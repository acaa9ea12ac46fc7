"""A server introduces itself: the first line of a session's stream is its host key.

The stream is the API server's, which has let this person run commands in that very pod: nobody
else can have written it. ssh then takes no other key, and trusts none because it was there first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from devctl.client.ssh import paths
from devctl.errors import DevctlError
from devctl.kube.pod_streams import STDOUT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.client.ssh.destination import Destination
    from devctl.kube.pod_streams import ExecStream

_KEY = re.compile(rb"ssh-ed25519 [A-Za-z0-9+/]{60,200}={0,2}(?= |\r?$)", re.ASCII)
_LONGEST = 1024
"""Bytes of the line, most of which are a comment."""


class IntroducedStream:
    """A session's stream without its first line, once ssh knows the key in that."""

    def __init__(self, stream: ExecStream, destination: Destination) -> None:
        """Read nothing yet.

        Args:
            stream: The session.
            destination: Whose key the first line has.
        """
        self._stream = stream
        self._destination = destination

    @property
    def exit_code(self) -> int:
        """The stream's own."""
        return self._stream.exit_code

    def read(self) -> Iterator[tuple[int, bytes]]:
        """What arrives after the introduction, and what is said beside it, by channel.

        Raises:
            DevctlError: The first line is not a key, or the connection is lost.
        """
        held: bytes | None = b""
        for channel, data in self._stream.read():
            if channel != STDOUT or held is None:
                yield channel, data
                continue
            held += data
            line, newline, rest = held.partition(b"\n")
            if newline or len(held) > _LONGEST:
                self._know(line)
                held = None
                if rest:
                    yield STDOUT, rest

    def _know(self, line: bytes) -> None:
        match = _KEY.match(line)
        if match is None:
            name = self._destination.name
            raise DevctlError(
                f"server `{name}` has not told its SSH host key",
                f"see `devctl exec {name} -- /opt/devctl/sshd x`, or restart the server",
            )
        know(self._destination, match[0].decode("ascii"))


def know(destination: Destination, key: str) -> None:
    """Have ssh know a replica by a key, and by no other."""
    line = f"{destination.alias} {key}\n"
    if paths.read(destination.known_hosts) != line:
        paths.replace(destination.known_hosts, line)
