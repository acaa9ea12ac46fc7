"""Servers: make them, look at them, stop, start and delete them."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from devctl.api.durations import parse_duration
from devctl.api.labels import DEVSERVER
from devctl.client import live, waiting
from devctl.client.flavors import check_flavor
from devctl.client.manifest import changed_spec, check_name, lifecycle_of, server_manifest
from devctl.client.server import Server
from devctl.client.settings import completed
from devctl.errors import AlreadyExistsError, NotFoundError, UsageError, WaitTimeoutError
from devctl.kube import resources
from devctl.kube.cluster import WINDOW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Unpack

    from devctl.client.live import Snapshot
    from devctl.client.manifest import CreateOptions
    from devctl.kube.cluster import Change, Cluster, Object

TIMEOUT = 600.0
"""Seconds for which is waited where nobody says how long: an image may have to be pulled."""
_GLANCE = 5.0
"""Seconds within which the observer has mostly looked at a change."""
_LONGEST = timedelta(days=365)
_POLL = 0.5
_KIND = resources.DevServer


def _quiet(_server: Server) -> None:
    """Nobody wants to know."""


class Servers:
    """The servers that a user may see.

    server = client.servers.create("lab", flavor="cpu-small", ttl="8h")
    client.servers.wait_ready("lab")
    client.servers.stop("lab")
    client.servers.delete("lab")
    """

    def __init__(self, cluster: Cluster) -> None:
        """Ask nothing yet."""
        self._cluster = cluster

    def list(
        self, namespace: str | None = None, labels: Mapping[str, Any] | None = None
    ) -> Iterator[Server]:
        """All servers of a namespace, or of devctl.kube.cluster.EVERYWHERE, page by page."""
        return map(Server, self._cluster.list(_KIND, namespace, labels))

    def get(self, name: str) -> Server:
        """One server.

        Raises:
            NotFoundError: There is none of that name.
            UsageError: There can be none of that name.
        """
        found = self.find(name)
        if found is None:
            raise NotFoundError(
                f"there is no server `{name}` in namespace `{self._cluster.namespace}`",
                "see what there is with `devctl list`, everywhere with -A",
            )
        return found

    def find(self, name: str) -> Server | None:
        """One server, or None where there is none of that name."""
        check_name(name)
        found = self._cluster.find(_KIND, name)
        return None if found is None else Server(found)

    def watch(
        self,
        namespace: str | None = None,
        labels: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
    ) -> Iterator[Change]:
        """Servers as they are and as they change; never ends by itself.

        What is there comes again whenever the connection is renewed.
        """
        while True:
            yield from self._cluster.watch(
                _KIND, namespace, name=name, labels=labels, seconds=WINDOW
            )

    def snapshots(
        self,
        namespace: str | None = None,
        labels: Mapping[str, Any] | None = None,
        *,
        names: Sequence[str] = (),
    ) -> Iterator[Snapshot[Server]]:
        """All servers as they are now, again at each change; never ends by itself.

        Args:
            namespace: Else the user's; or devctl.kube.cluster.EVERYWHERE.
            labels: What their labels have to be.
            names: Only these; they have to be there.

        Raises:
            NotFoundError: One of the names is not there, or all have been deleted.
        """
        for name in names:
            self.get(name)
        only = names[0] if len(names) == 1 else None
        wanted = set(names)

        def meant(found: Server) -> bool:
            return not wanted or found.name in wanted

        def watched(seconds: float) -> Iterator[Change]:
            found = self._cluster.watch(_KIND, namespace, name=only, labels=labels, seconds=seconds)
            return (change for change in found if meant(Server(change.object)))

        def listed() -> Iterator[Server]:
            return filter(meant, self.list(namespace, labels))

        for snapshot in live.snapshots(listed, watched, Server):
            yield snapshot
            if wanted and not snapshot.items:
                raise NotFoundError(
                    f"{', '.join(f'`{name}`' for name in names)} was deleted",
                    "its files are kept: `devctl homes list`",
                )

    def manifest(self, name: str, **options: Unpack[CreateOptions]) -> Object:
        """What `create` would create.

        Raises:
            UsageError: The options make no sense, or nobody says which image.
        """
        manifest = server_manifest(name, options)
        return manifest | {"spec": completed(self._cluster, manifest["spec"])}

    def create(
        self, name: str, *, dry_run: bool = False, **options: Unpack[CreateOptions]
    ) -> Server:
        """Create a server; it is not waited for.

        Args:
            name: Its name.
            dry_run: Whether the API server is only to check it, by all its rules.
            options: See devctl.client.manifest.CreateOptions.

        Raises:
            UsageError: The options make no sense.
            NotFoundError: There is no such flavor.
            AlreadyExistsError: There is a server of that name.
            DeniedError: Rights or a quota forbid it.
        """
        manifest = self.manifest(name, **options)
        check_flavor(self._cluster, options.get("flavor"))
        try:
            return Server(self._cluster.create(_KIND, manifest, dry_run=dry_run))
        except AlreadyExistsError as error:
            raise AlreadyExistsError(
                f"there is a server `{name}` already in namespace `{self._cluster.namespace}`",
                f"look at it with `devctl describe {name}`, or choose another name",
            ) from error

    def stop(self, which: str | Server) -> Server:
        """Stop a server: its pods go, its homes stay. One that is stopped stays so."""
        return self._change(which, {"stopped": True})

    def start(self, which: str | Server) -> Server:
        """Start a server where it was left off. One that runs goes on."""
        return self._change(which, {"stopped": False})

    def extend(
        self, which: str | Server, *, ttl: int | str | None = None, idle: int | str | None = None
    ) -> Server:
        """Keep a server for longer.

        Args:
            which: The server.
            ttl: How long from now it is to stay.
            idle: How long it may be idle before it is stopped.

        Raises:
            UsageError: That is sooner than it would go, or no such duration.
        """
        if ttl is None and idle is None:
            raise UsageError("nothing to extend", "specify --ttl or --idle")
        server = self.get(which) if isinstance(which, str) else which
        lives = None if ttl is None else _lives(server, ttl, datetime.now(UTC))
        if idle is not None:
            _length(idle)
        return self._change(server, {"lifecycle": lifecycle_of(lives, idle)})

    def restart(
        self,
        name: str,
        seconds: float | None = TIMEOUT,
        progress: Callable[[Server], None] = _quiet,
    ) -> Server:
        """Stop a server, wait until its pods are gone, and start it; it is not waited for then.

        Sessions and processes end. What has changed in its spec since it was started takes effect.

        Args:
            name: The server.
            seconds: How long to wait for its pods at most; None for as long as it takes.
            progress: Told of the server as it is and at each change.

        Raises:
            WaitTimeoutError: It has not stopped in time, and is not started.
        """
        server = self.get(name)
        if not server.stopped:
            server = self.stop(server)
        self.wait_stopped(name, seconds, progress)
        return self.start(server)

    def update(self, which: str | Server, **options: Unpack[CreateOptions]) -> Server:
        """Change a server's spec, as far as options say; see devctl.client.manifest.CreateOptions.

        What shapes its pods waits for the next start; its condition RestartRequired says so.

        Raises:
            UsageError: The options make no sense together, or the API server refuses them.
        """
        server = self.get(which) if isinstance(which, str) else which
        return self._change(server, changed_spec(server, options))

    def edit(self, which: Server, change: Object, *, dry_run: bool = False) -> Server:
        """Merge a change into a server's spec; None as a value takes a field away.

        Raises:
            UsageError: The API server refuses it.
        """
        return self._change(which, change, dry_run=dry_run)

    def wait_seen(self, name: str, seconds: float = _GLANCE) -> Server:
        """A server once its status is about its spec as it is; as it is then where that lasts."""
        server = self.get(name)
        for server in waiting.follow(self._cluster, name, seconds):
            if server.seen:
                break
        return server

    def delete(self, which: str | Server) -> Server:
        """Delete a server and keep its homes; the server as it was.

        Args:
            which: Its name; or the server itself, so that no new one of that name is deleted.
        """
        server = self.get(which) if isinstance(which, str) else which
        self._cluster.delete(_KIND, server.raw)
        return server

    def wait_ready(
        self,
        name: str,
        seconds: float | None = TIMEOUT,
        progress: Callable[[Server], None] = _quiet,
    ) -> Server:
        """Wait until all pods of a server can be used; see devctl.client.waiting.wait_ready.

        Args:
            name: The server.
            seconds: How long at most; None for as long as it takes.
            progress: Told of the server as it is and at each change.
        """
        check_name(name)
        return waiting.wait_ready(self._cluster, name, seconds, progress)

    def wait_stopped(
        self,
        name: str,
        seconds: float | None = TIMEOUT,
        progress: Callable[[Server], None] = _quiet,
    ) -> Server:
        """Wait until a server has no pods any more; see devctl.client.waiting.wait_stopped."""
        check_name(name)
        return waiting.wait_stopped(self._cluster, name, seconds, progress)

    def wait_gone(
        self,
        name: str,
        uid: str,
        seconds: float | None = TIMEOUT,
        progress: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """Wait until a deleted server and its pods are gone.

        Args:
            name: The server.
            uid: Which one of that name.
            seconds: How long at most; None for as long as it takes.
            progress: Told what is still there.

        Raises:
            WaitTimeoutError: They are still there.
            AlreadyExistsError: There is a new server of that name.
        """
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            server = self.find(name)
            if server and server.uid != uid:
                raise AlreadyExistsError(
                    f"`{name}` was recreated meanwhile, and is left alone",
                    "repeat the command if you mean the new one",
                )
            pods = self._pods(name)
            if not server and not pods:
                return
            state = f"{len(pods)} of its pods still end" if pods else "it is still there"
            progress(state)
            if until is not None and time.monotonic() >= until:
                raise WaitTimeoutError(
                    f"`{name}` still ends after {seconds or 0:.0f} s: {state}",
                    "deletion continues; its files are kept: `devctl homes list`",
                )
            time.sleep(_POLL)

    def _change(self, which: str | Server, spec: Object, *, dry_run: bool = False) -> Server:
        server = self.get(which) if isinstance(which, str) else which
        # The UID makes the API server refuse if it is another server of that name by now.
        change = {"metadata": {"uid": server.uid}, "spec": spec}
        return Server(
            self._cluster.patch(_KIND, server.name, change, server.namespace, dry_run=dry_run)
        )

    def _pods(self, name: str) -> Sequence[str]:
        found = self._cluster.list(resources.Pod, labels={DEVSERVER: name})
        return [str(pod["metadata"]["name"]) for pod in found]


def _length(value: int | str) -> timedelta:
    try:
        return parse_duration(value)
    except ValueError as error:
        raise UsageError(str(error), "for example `90m`, `8h` or `1d12h`") from error


def _lives(server: Server, ttl: int | str, now: datetime) -> int:
    """The seconds from a server's creation until some time from now, and never sooner."""
    goes = now + _length(ttl)
    if server.expires_at and goes < server.expires_at:
        raise UsageError(
            f"`{server.name}` stays until {server.expires_at:%Y-%m-%d %H:%M} UTC already",
            "name a longer time",
        )
    lives = goes - server.created_at
    if lives > _LONGEST:
        last = server.created_at + _LONGEST
        raise UsageError(
            f"a server becomes a year old at most, and `{server.name}` would be older",
            f"its last day is {last:%Y-%m-%d}: name a shorter time",
        )
    return math.ceil(lives.total_seconds())
