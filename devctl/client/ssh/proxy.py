"""What ssh connects through: its input and output, and an sshd that lives as long as they do."""

from __future__ import annotations

import threading
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from devctl.client.ssh import keys
from devctl.client.ssh.introduction import IntroducedStream
from devctl.client.ssh.pod_life import PodLife
from devctl.client.streams import stdio
from devctl.client.streams.pods import running_pod
from devctl.errors import ConnectionLostError, DevctlError
from devctl.kube.exec_stream import open_exec

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl.client.ssh.destination import Destination
    from devctl.kube.cluster import Cluster

_MOUNTED_KEY = "/etc/devctl/ssh/ssh_host_ed25519_key.pub"
"""Where pods that a release before 0.2 has made have their key; their `sshd` does not tell it."""
_SCRIPT = f'[ ! -r {_MOUNTED_KEY} ] || cat {_MOUNTED_KEY}; exec /bin/sh /opt/devctl/sshd "$1"'
SSHD = ("/bin/sh", "-c", _SCRIPT, "sshd")
"""One session over its standard input and output, for the one key that it is called with."""
_SETTLE = 2.0
"""Seconds that the last words of a pod that goes may take."""
_KILLED = range(128, 255)
"""Exit codes of who was ended by a signal; 255 is sshd's own for a client that has left."""


def connect(
    cluster: Cluster,
    destination: Destination,
    *,
    source: int,
    output: int,
    tell: Callable[[bytes], object],
) -> int:
    """Carry a session until it ends.

    Args:
        cluster: Where the server is.
        destination: The replica.
        source: Where ssh's bytes come from.
        output: Where they go to.
        tell: Takes what the person is to read.

    Returns:
        The exit code of sshd.

    Raises:
        DevctlError: There can be no session, or the pod has gone.
    """
    pod = running_pod(cluster, destination.name, destination.replica)
    public = keys.own_key().public
    meta = pod["metadata"]
    argv = [*SSHD, public]
    life = PodLife(cluster, pod)
    # What is still going on when the process ends is in threads that nobody waits for.
    with open_exec(cluster, meta["name"], argv, meta["namespace"], stdin=True) as stream:
        stdio.feed(stream, source)
        return _outcome(IntroducedStream(stream, destination), life, output, tell)


def _outcome(
    stream: IntroducedStream, life: PodLife, output: int, tell: Callable[[bytes], object]
) -> int:
    ended: SimpleQueue[int | DevctlError | OSError] = SimpleQueue()
    gone: SimpleQueue[DevctlError] = SimpleQueue()
    either: SimpleQueue[None] = SimpleQueue()

    def drain() -> None:
        try:
            ended.put(stdio.drain(stream, output, tell))
        except (DevctlError, OSError) as error:
            ended.put(error)
        either.put(None)

    def watch() -> None:
        if fate := life.watch(lambda: tell(_GOING)):
            gone.put(fate)
            either.put(None)

    for each in (drain, watch):
        threading.Thread(target=each, name=f"session: {each.__name__}", daemon=True).start()
    either.get()
    if not gone.empty():
        fate = gone.get()
        with suppress(Empty):
            ended.get(timeout=_SETTLE)
        raise fate
    return _judged(ended.get(), life)


_GOING = b"\r\ndevctl: this server is being stopped; save what you have\r\n"


def _judged(end: int | DevctlError | OSError, life: PodLife) -> int:
    """The end of a session in the words of what became of its pod, if that is why."""
    if end == 0:
        return 0
    lost = isinstance(end, ConnectionLostError)
    if isinstance(end, int) or lost:
        killed = lost or end in _KILLED
        if fate := life.verdict(killed=killed):
            raise fate
    if isinstance(end, int):
        return end
    raise end
