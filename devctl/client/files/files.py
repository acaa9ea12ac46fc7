"""Files to servers and from them, by the servers' names."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from devctl.client.files import copy, pull, remote, sync
from devctl.client.files.amounts import expect
from devctl.client.files.record import Record
from devctl.client.files.synced import SyncOptions
from devctl.client.files.volume import volume_of
from devctl.client.servers import Servers
from devctl.client.streams.exec_pod import running_pod
from devctl.client.waiting import on_every
from devctl.errors import ConnectionLostError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from devctl.client.files.copy import Copied
    from devctl.client.files.remote import Place
    from devctl.client.files.synced import Synced
    from devctl.kube.cluster import Cluster, Object

_HERE, _THERE = 1.0, 3.0
"""Seconds between two looks at a folder here, and at one of a server."""
_AT_ONCE = 8
"""Replicas that are sent to at the same time: each needs a part of this machine's memory."""
_AGAIN = 5.0
"""Seconds after which a lost connection is tried again."""


class Files:
    """Files of servers; whatever comes from one is looked at before it is kept here.

    client.files.push("lab", Path("project"))
    client.files.pull("lab", Path("results"), "project/results")
    client.files.copy("lab:model.pt", "model.pt")
    """

    def __init__(self, cluster: Cluster) -> None:
        """Ask nothing yet."""
        self._cluster = cluster

    def place(self, name: str, path: str, replica: int = 0) -> Place:
        """A path in a replica of a server, which has to run.

        Raises:
            NotFoundError: There is no such server or replica.
            DevctlError: It does not run.
        """
        path = remote.absolute(path)
        return self._place(running_pod(self._cluster, name, replica), path)

    def _lasting(self, name: str, path: str, replica: int) -> Place:
        """The same, with what tells its volume from all others."""
        path = remote.absolute(path)
        pod = running_pod(self._cluster, name, replica)
        volume = volume_of(self._cluster, pod, path)
        return self._place(pod, path)._replace(volume=volume)

    def _place(self, pod: Object, path: str) -> Place:
        about = pod["metadata"]
        return remote.Place(self._cluster, about["namespace"], about["name"], path)

    def push(  # noqa: PLR0913 - each is a choice of the caller
        self,
        name: str,
        local: Path,
        path: str | None = None,
        *,
        replica: int | None = None,
        options: SyncOptions | None = None,
        moved: Callable[[int], None] | None = None,
    ) -> Sequence[Synced]:
        """Send what has changed in a folder to the homes of a server.

        Args:
            name: The server.
            local: The folder here.
            path: The folder there; else one of the same name in the home.
            replica: Only to this one; else to each, or to one of those that share a volume.
            options: How.
            moved: Takes the number of bytes that were just sent.

        Raises:
            DevctlError: Something cannot be sent or taken; no file there is half-written, and none
                that was changed there is replaced.
        """
        options = options or SyncOptions()
        path = remote_folder(local) if path is None else path
        if not local.is_dir():
            sync.choose(local, options)
        root = local.resolve()
        replicas = self._replicas(name) if replica is None else [replica]
        places = on_every(replicas, lambda each: self._lasting(name, path, each), _AT_ONCE)
        places = _one_each(places)
        records = {each: Record.read(root, place) for each, place in places.items()}
        selection = sync.choose(
            local,
            options,
            lambda found: any(
                found.path in record.files and record.files[found.path].is_here(found)
                for record in records.values()
            ),
        )
        # Nothing is sent to any of them while one has something that would be replaced.
        todo = on_every(
            places,
            lambda each: sync.plan(places[each], selection, records[each], options),
            _AT_ONCE,
        )
        if len(todo) > 1:
            # One that is full would notice while others are taking their part.
            on_every(todo, lambda each: sync.check_room(todo[each]), _AT_ONCE)
        progress = _OneByOne(moved) if moved else None
        done = on_every(todo, lambda each: sync.push(todo[each], options, progress), _AT_ONCE)
        return [done[each] for each in places]

    def pull(  # noqa: PLR0913 - each is a choice of the caller
        self,
        name: str,
        local: Path,
        path: str | None = None,
        *,
        replica: int = 0,
        options: SyncOptions | None = None,
        moved: Callable[[int], None] | None = None,
    ) -> Synced:
        """Bring here what has changed in a folder of a server.

        Args:
            name: The server.
            local: The folder here, there or not.
            path: The folder there; else one of the same name in the home.
            replica: Of which replica.
            options: How.
            moved: Takes the number of bytes that have just come.

        Raises:
            DevctlError: Files have changed on both sides, or the pod sends what no honest one does;
                all here is as it was.
        """
        path = remote_folder(local) if path is None else path
        place = self._lasting(name, path, replica)
        return pull.pull(place, local, options or SyncOptions(), moved)

    def copy(
        self,
        source: str,
        target: str,
        *,
        secrets: bool = False,
        overwrite: bool = False,
        moved: Callable[[int], None] | None = None,
    ) -> Copied:
        """Copy a file or a folder; one of both is `NAME:PATH`, or `NAME.K:PATH` of replica K.

        Args:
            source: What is copied.
            target: Where to; a folder that is there takes it in.
            secrets: Whether what looks like a secret in a folder is sent, too.
            overwrite: Whether files here are replaced by those of a folder there.
            moved: Takes the number of bytes that have just moved.

        Raises:
            UsageError: None of both is in a server, or both are.
            NotFoundError: There is no such file.
            DevctlError: It cannot be copied; no file is half-written.
        """
        there, goal = copy.parse(source), copy.parse(target)
        if (there is None) == (goal is None):
            raise UsageError(
                "one of both has to be in a server, and the other one here",
                "write `NAME:PATH` for the one in a server",
            )
        if goal is not None:
            into = goal.path in {"", ".", "~"} or goal.path.endswith("/")
            place = self.place(goal.server, goal.path, goal.replica)
            local = Path(source)
            return copy.upload(local, place, into=into, secrets=secrets, progress=moved)
        assert there is not None  # noqa: S101 - exactly one of both is none
        place = self.place(there.server, there.path, there.replica)
        local = Path(target)
        if target.endswith("/") and not local.is_dir():
            raise UsageError(f"there is no folder `{target}`", "make it first")
        return copy.download(place, local, overwrite=overwrite, progress=moved)

    def _replicas(self, name: str) -> range:
        return range(Servers(self._cluster).get(name).size)


def _one_each(places: Mapping[int, Place]) -> dict[int, Place]:
    """One place of each volume: what replicas share has to be sent once."""
    first: dict[str, int] = {}
    for each in sorted(places):
        first.setdefault(places[each].volume or places[each].pod, each)
    return {each: places[each] for each in first.values()}


class _OneByOne:
    """What several threads tell of what has moved, one at a time."""

    def __init__(self, moved: Callable[[int], None]) -> None:
        self._moved, self._lock = moved, threading.Lock()

    def __call__(self, count: int) -> None:
        with self._lock:
            self._moved(count)

    def expect(self, count: int) -> None:
        with self._lock:
            expect(self._moved, [count])


def remote_folder(local: Path) -> str:
    """Where in a home a folder goes for which no other place is named.

    Raises:
        UsageError: It has no name of its own.
    """
    name = local.resolve().name
    if not name:
        raise UsageError(f"`{local}` has no name", "name the folder in the server, too")
    return name


def wait(seconds: float) -> None:
    """Wait until a folder is looked at again."""
    time.sleep(seconds)


def watch(
    once: Callable[[], Sequence[Synced]],
    glance: Callable[[], object] | None = None,
    lost: Callable[[ConnectionLostError], None] = lambda _error: None,
    sleep: Callable[[float], None] | None = None,
) -> Iterator[Sequence[Synced]]:
    """Sync again and again; what each time has done.

    Args:
        once: Syncs.
        glance: What a folder here is like; nothing is asked of the server while it stays so. None
            where the server has to be asked each time.
        lost: Told that the connection was lost, and is tried again.
        sleep: Waits for some seconds.
    """
    sleep = sleep or wait
    before: object = None
    first = True
    while True:
        now = glance() if glance else None
        if first or glance is None or now != before:
            try:
                done = once()
            except ConnectionLostError as error:
                if first:
                    raise
                lost(error)
                sleep(_AGAIN)
                continue
            first = False
            # A file that changed while it was read is tried again.
            unsettled = any(each.changed for each in done)
            before = None if unsettled else now
            yield done
        sleep(_HERE if glance else _THERE)
