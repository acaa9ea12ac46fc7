"""The ssh-proxy: an sshd in the server for one session, over standard input and output.

The first line of a session is the server's host key. It comes over a stream of the API server,
which has let the user run commands in that very pod, so nobody else can have written it. ssh
accepts no other key, and trusts none on first use.
"""

from __future__ import annotations

import re
import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from devctl.client.ssh import keys
from devctl.client.streams import stdio
from devctl.client.streams.pods import fate, running_pod
from devctl.client.waiting import pod_changes
from devctl.errors import ConnectionLostError, DevctlError
from devctl.kube import resources
from devctl.kube.pod_streams import STDOUT, open_exec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from devctl.client.ssh.destination import Destination
    from devctl.kube.cluster import Cluster, Object

_MOUNTED_KEY = "/etc/devctl/ssh/ssh_host_ed25519_key.pub"
"""The key of pods that a release before 0.2 has created; their `sshd` does not print it."""
_SCRIPT = f'[ ! -r {_MOUNTED_KEY} ] || cat {_MOUNTED_KEY}; exec /bin/sh /opt/devctl/sshd "$1"'
SSHD = ("/bin/sh", "-c", _SCRIPT, "sshd")
"""One session over standard input and output, for the key in its last argument."""
_KEY = re.compile(rb"ssh-ed25519 [A-Za-z0-9+/]{60,200}={0,2}(?= |\r?$)", re.ASCII)
_LONGEST = 1024
"""Bytes of the line with the key, most of which are a comment."""
_GOING = b"\r\ndevctl: this server is being stopped; save your work\r\n"
_SETTLE = 2.0
"""Seconds that the last output of a pod that is gone may take to arrive."""
_KILLED = range(128, 255)
"""Exit codes after a signal; 255 is sshd's own for a client that has disconnected."""
_POLL = 0.25
_PATIENCE = 3.0
"""Seconds that the kubelet may take to report a container's end."""


def connect(
    cluster: Cluster,
    destination: Destination,
    *,
    source: int,
    output: int,
    tell: Callable[[bytes], object],
) -> int:
    """Carry a session until it ends; the exit code of sshd, or a DevctlError if the pod is gone.

    `source` and `output` are file descriptors; `tell` is called with messages for the person.
    """
    pod = running_pod(cluster, destination.name, destination.replica)
    argv = [*SSHD, keys.own_key().public]
    meta, life = pod["metadata"], PodLife(cluster, pod)
    ended: SimpleQueue[int | DevctlError | OSError] = SimpleQueue()
    gone: list[DevctlError] = []

    def drain() -> None:
        try:
            stdio.drain(introduced(stream.read(), destination), output, tell)
            ended.put(stream.exit_code)
        except (DevctlError, OSError) as error:
            ended.put(error)

    def watch() -> None:
        if why := life.watch(lambda: tell(_GOING)):
            gone.append(why)
            ended.put(why)

    with open_exec(cluster, meta["name"], argv, meta["namespace"], stdin=True) as stream:
        stdio.feed(stream, source)
        # Daemon threads do what is left when the process ends.
        for each in (drain, watch):
            threading.Thread(target=each, name=f"session: {each.__name__}", daemon=True).start()
        end = ended.get()
        if gone:
            if end is gone[0]:
                with suppress(Empty):
                    ended.get(timeout=_SETTLE)
            raise gone[0]
    # A session that has failed may have ended because of what became of its pod.
    lost = isinstance(end, ConnectionLostError)
    failed = lost or (isinstance(end, int) and end != 0)
    if failed and (why := life.verdict(killed=lost or end in _KILLED)):
        raise why
    if isinstance(end, int):
        return end
    raise end


def introduced(
    pieces: Iterable[tuple[int, bytes]], destination: Destination
) -> Iterator[tuple[int, bytes]]:
    """What sshd prints after its first line, once ssh knows the key in it; DevctlError without."""
    held: bytes | None = b""
    for channel, data in pieces:
        if channel != STDOUT or held is None:
            yield channel, data
            continue
        held += data
        line, newline, rest = held.partition(b"\n")
        if newline or len(held) > _LONGEST:
            match = _KEY.match(line)
            if match is None:
                raise DevctlError(
                    f"server `{destination.name}` has not told its SSH host key",
                    f"see `devctl exec {destination.name} -- /opt/devctl/sshd x`, or restart the"
                    " server",
                )
            know(destination, match[0].decode("ascii"))
            held = None
            if rest:
                yield STDOUT, rest


def know(destination: Destination, key: str) -> None:
    """Make a key the only one that ssh accepts for a replica."""
    line = f"{destination.alias} {key}\n"
    if keys.read(destination.known_hosts) != line:
        keys.replace(destination.known_hosts, line)


class PodLife:
    """What becomes of a pod during a session in it."""

    def __init__(self, cluster: Cluster, pod: Object) -> None:
        """Start from the pod as it is now."""
        self._cluster, self._before = cluster, pod
        self._name: str = pod["metadata"]["name"]
        self._server = self._name.rpartition("-")[0]

    def watch(self, going: Callable[[], object]) -> DevctlError | None:
        """Wait until the session's container is gone, and say why; None if that is not permitted.

        `going` is called once when the pod is being stopped.
        """
        told = False
        for _, now in pod_changes(self._cluster, [self._name]):
            if found := self.fate(now):
                return found
            if now and _leaves(now) and not told:
                told = True
                going()
        return None

    def verdict(self, *, killed: bool) -> DevctlError | None:
        """What became of the pod after the session has ended, or was killed; None if it is well."""
        until = time.monotonic() + (_PATIENCE if killed else 0)
        while True:
            try:
                now = self._cluster.find(resources.Pod, self._name)
            except DevctlError:
                return None
            if found := self.fate(now):
                return found
            if now and _leaves(now):
                return DevctlError(
                    f"the session has ended: pod `{self._name}` is being stopped",
                    f"see `devctl status {self._server}`; its files are kept",
                )
            if time.monotonic() >= until:
                return None
            time.sleep(_POLL)

    def fate(self, now: Object | None) -> DevctlError | None:
        """What became of the pod, if anything."""
        if not (why := fate(self._before, now)):
            return None
        again = f"when it runs, `devctl ssh {self._server}` connects again"
        return DevctlError(
            f"the session has ended: {why}", f"see `devctl describe {self._server}`; {again}"
        )


def _leaves(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]
