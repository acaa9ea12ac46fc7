"""Files to and from servers, by the servers' names."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from devctl.client.files import copy, remote, sync
from devctl.client.files.record import Record, volume_of
from devctl.client.files.sync import SyncOptions
from devctl.client.files.transfer import expect
from devctl.client.objects import Collection
from devctl.client.servers import Servers
from devctl.client.streams.pods import running_pod
from devctl.client.waiting import on_every
from devctl.errors import ConnectionLostError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from devctl.client.files.copy import Copied
    from devctl.client.files.remote import Place
    from devctl.client.files.sync import Synced
    from devctl.client.files.transfer import Progress

_HERE, _THERE = 1.0, 3.0
"""Seconds between two looks at a folder here, and at one of a server."""
_AT_ONCE = 8
"""Replicas that are sent to at the same time; each takes some of this machine's memory."""
_AGAIN = 5.0
"""Seconds until a lost connection is tried again."""


class Files(Collection):
    """Files of servers; what comes from one is checked before it is kept here.

    client.files.push("lab", Path("project"))
    client.files.pull("lab", Path("results"), "project/results")
    client.files.copy("lab:model.pt", "model.pt")
    """

    def place(self, name: str, path: str, replica: int = 0, *, volume: bool = False) -> Place:
        """A path in a replica, with its volume if asked for; DevctlError unless it runs."""
        path = remote.absolute(path)
        pod = running_pod(self._cluster, name, replica)
        about = pod["metadata"]
        on = volume_of(self._cluster, pod, path) if volume else ""
        return remote.Place(self._cluster, about["namespace"], about["name"], path, on)

    def push(  # noqa: PLR0913 - each is a choice of the caller
        self,
        name: str,
        local: Path,
        path: str | None = None,
        *,
        replica: int | None = None,
        options: SyncOptions | None = None,
        moved: Progress | None = None,
    ) -> Sequence[Synced]:
        """Send what has changed in a folder to the homes of a server.

        `path` is the folder there, by default one of the same name in the home. `replica` is the
        only one to send to, by default each, or one of those that share a volume. `moved` takes the
        number of bytes that were just sent.

        Raises:
            DevctlError: Something cannot be sent or taken; no file there is half-written, and none
                that was changed there is replaced.
        """
        options = options or SyncOptions()
        path = remote_folder(local) if path is None else path
        if not local.is_dir():
            sync.choose(local, options)
        root = local.resolve()
        replicas = range(Servers(self._cluster).get(name).size) if replica is None else [replica]
        places = _one_each(
            on_every(replicas, lambda each: self.place(name, path, each, volume=True), _AT_ONCE)
        )
        records = {each: Record.read(root, place) for each, place in places.items()}
        selection = sync.choose(
            local, options, lambda found: any(each.is_here(found) for each in records.values())
        )
        # Nothing is sent to any replica while something would be replaced in one.
        todo = on_every(
            places,
            lambda each: sync.plan(places[each], selection, records[each], options),
            _AT_ONCE,
        )
        if len(todo) > 1:
            # A full one would notice only while others are taking their part.
            on_every(todo, lambda each: sync.check_room(todo[each]), _AT_ONCE)
        progress = _OneByOne(moved) if moved else None
        done = on_every(todo, lambda each: sync.push(todo[each], progress), _AT_ONCE)
        return [done[each] for each in places]

    def pull(  # noqa: PLR0913 - each is a choice of the caller
        self,
        name: str,
        local: Path,
        path: str | None = None,
        *,
        replica: int = 0,
        options: SyncOptions | None = None,
        moved: Progress | None = None,
    ) -> Synced:
        """Bring what has changed in a folder of a server here; arguments are those of `push`.

        DevctlError, and no change here, if files have changed on both sides, or the pod sends what
        no well-behaved one does.
        """
        path = remote_folder(local) if path is None else path
        place = self.place(name, path, replica, volume=True)
        return sync.pull(place, local, options or SyncOptions(), moved)

    def copy(
        self,
        source: str,
        target: str,
        *,
        secrets: bool = False,
        overwrite: bool = False,
        moved: Progress | None = None,
    ) -> Copied:
        """Copy a file or a folder; exactly one side is `NAME:PATH`, or `NAME.K:PATH` of replica K.

        An existing folder takes in what is copied. With `secrets`, files in a folder that look like
        secrets are sent too; with `overwrite`, files here are replaced by those of a folder there.
        `moved` takes the number of bytes that have just moved.

        Raises:
            UsageError: Neither side is in a server, or both are.
            NotFoundError: There is no such file.
            DevctlError: It cannot be copied; no file is half-written.
        """
        there, goal = copy.parse(source), copy.parse(target)
        if goal is not None and there is None:
            into = goal.path in {"", ".", "~"} or goal.path.endswith("/")
            place = self.place(goal.server, goal.path, goal.replica)
            return copy.upload(Path(source), place, into=into, secrets=secrets, progress=moved)
        if goal is not None or there is None:
            raise UsageError(
                "exactly one side has to be in a server, and the other one here",
                "write `NAME:PATH` for the one in a server",
            )
        place = self.place(there.server, there.path, there.replica)
        local = Path(target)
        if target.endswith("/") and not local.is_dir():
            raise UsageError(f"there is no folder `{target}`", "create it first")
        return copy.download(place, local, overwrite=overwrite, progress=moved)


def _one_each(places: Mapping[int, Place]) -> dict[int, Place]:
    """One place of each volume: what replicas share has to be sent once."""
    first: dict[str, int] = {}
    for each in sorted(places):
        first.setdefault(places[each].volume or places[each].pod, each)
    return {each: places[each] for each in first.values()}


class _OneByOne:
    """A progress that several threads can tell of what has moved."""

    def __init__(self, moved: Progress) -> None:
        self._moved, self._lock = moved, threading.Lock()

    def __call__(self, count: int) -> None:
        with self._lock:
            self._moved(count)

    def expect(self, count: int) -> None:
        with self._lock:
            expect(self._moved, [count])


def remote_folder(local: Path) -> str:
    """The default folder of a home for a folder here; UsageError if that has no name."""
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
) -> Iterator[Sequence[Synced]]:
    """Sync again and again; gives what each sync has done.

    No sync is done while a glance at the folder here gives the same; without `glance`, only a sync
    can tell what has changed. `lost` is told of a lost connection that will be tried again.
    """
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
                wait(_AGAIN)
                continue
            first = False
            # A file that changed while it was read is tried again.
            before = None if any(each.changed for each in done) else now
            yield done
        wait(_HERE if glance else _THERE)
