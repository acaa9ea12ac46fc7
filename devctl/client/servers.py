"""Servers: create them, look at them, stop, start and delete them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from devctl.api.devserver import Condition, Phase, home_names
from devctl.api.labels import DEVSERVER
from devctl.api.pod_spec import shape
from devctl.api.workloads import PREEMPTED
from devctl.client.flavors import check_flavor
from devctl.client.hooks import HookOutcome
from devctl.client.lifetimes import extended, length_of
from devctl.client.manifests import changed_spec, check_name, server_manifest
from devctl.client.objects import (
    Explained,
    Field,
    NamedCollection,
    Snapshot,
    mapping,
    moment,
    number,
    phase_of,
    text,
)
from devctl.client.settings import completed
from devctl.client.waiting import follow, ignore, wait_gone
from devctl.errors import (
    AlreadyExistsError,
    DeniedError,
    DevctlError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from devctl.kube import resources
from devctl.kube.patience import backoff

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Unpack

    from devctl.client.lifetimes import Extension
    from devctl.client.manifests import CreateOptions
    from devctl.client.queues.limits import Limit
    from devctl.client.queues.waiting import Waiting
    from devctl.kube.cluster import Object

    Progress = Callable[["Server"], None]

TIMEOUT = 600.0
"""Default seconds to wait: an image may have to be pulled."""
_GLANCE = 5.0
"""Seconds within which the observer usually notices a change."""
_PATIENCE = 10.0
"""Seconds for which a server may report a failure: some pass by themselves."""
_WINDOW = 60.0
"""Seconds between two full lists, which reveal what was deleted between two watches."""
_KIND = resources.DevServer
_KEPT = "its files are kept: `devctl homes list`"


@dataclass(frozen=True)
class Replica:
    """One pod of a server, as the server's status reports it; what is unknown is empty."""

    raw: Object

    ordinal = Field(number, "ordinal")
    pod = Field(text, "pod")
    phase = Field(phase_of(Phase), "phase")
    reason = Field(text, "reason")
    message = Field(text, "message")
    node = Field(text, "node")
    ip = Field(text, "ip")
    restarts = Field(number, "restarts")


@dataclass(frozen=True)
class Server(Explained):
    """A server at one moment."""

    flavor = Field(text, "spec", "flavor")
    """The flavor it asks for; empty for the default one."""
    image = Field(text, "spec", "image")
    mode = Field(lambda value: text(value) or "standalone", "spec", "mode")
    """One pod (`standalone`), or several that train together (`distributed`)."""
    stopped = Field(bool, "spec", "stopped")
    """Whether it should be stopped."""
    ssh = Field(lambda value: value is None or bool(value), "spec", "enableSSH")
    """Whether it accepts SSH sessions."""
    phase = Field(phase_of(Phase), "status", "phase")
    """A plain string if only a newer release knows it."""
    lifecycle = Field(mapping, "spec", "lifecycle")
    """When it is stopped or deleted automatically."""
    ready_replicas = Field(number, "status", "readyReplicas")
    """The number of its pods that are ready."""
    started_at = Field(moment, "status", "startedAt")
    """When the first pod of its present run was scheduled."""
    run_ends_at = Field(moment, "status", "runEndsAt")
    """When it will be stopped because it has run for long enough; None for never."""
    stopped_at = Field(moment, "status", "stoppedAt")
    """Since when it has been stopped; None if it runs."""
    expires_at = Field(moment, "status", "expiresAt")
    """When it will be deleted automatically; None for never."""
    last_activity_at = Field(moment, "status", "lastActivityAt")
    """When something was last done in it; None if that is unknown."""
    last_activity = Field(text, "status", "lastActivity")
    """What that was."""
    idle_since = Field(moment, "status", "idle", "since")
    """Since when nothing has been done in it; None while something is, or if that is unknown."""
    stops_at = Field(moment, "status", "idle", "stopsAt")
    """When it will be stopped unless something is done in it; None for never."""
    warned_at = Field(moment, "status", "idle", "warnedAt")
    """When it was announced that it will be stopped soon."""

    @property
    def held_until(self) -> datetime | None:
        """Until when it is not stopped, however idle it is."""
        return moment(self.lifecycle.get("holdUntil"))

    @property
    def size(self) -> int:
        """The number of pods it has while it runs."""
        return self._shape[0]

    @property
    def processes(self) -> int:
        """The number of processes that a training has in each pod."""
        return self._shape[1]

    @property
    def ready(self) -> bool:
        """Whether all its pods are ready."""
        return self.condition(Condition.READY).get("status") == "True"

    @property
    def seen(self) -> bool:
        """Whether its status is about its current spec."""
        generation = number(self.raw["metadata"].get("generation"))
        ready = self.condition(Condition.READY)
        return bool(ready) and number(ready.get("observedGeneration")) >= generation

    @property
    def replicas(self) -> Sequence[Replica]:
        """Each pod that should exist or still does, by ordinal."""
        found = map(Replica, self.status.get("replicaStatuses") or [])
        return sorted(found, key=lambda replica: replica.ordinal)

    @property
    def hooks(self) -> Sequence[HookOutcome]:
        """How the hooks of each replica ended when its last pod did."""
        return [HookOutcome(entry) for entry in self.status.get("hooks") or []]

    @property
    def homes(self) -> list[str]:
        """The claims of its homes, by replica."""
        return home_names(self.name, self.size)

    def pods(self) -> list[str]:
        """The names of the pods it has while it runs, by replica."""
        return [f"{self.name}-{ordinal}" for ordinal in range(self.size)]

    @property
    def _shape(self) -> tuple[int, int]:
        try:
            return shape(self.spec)
        except ValueError:
            # The spec is a newer release's; the status still lists the pods.
            return max(1, len(self.status.get("replicaStatuses") or [])), 1

    @property
    def _why(self) -> dict[str, Any]:
        """The condition that explains its phase: the observer's, else that of the failed role."""
        ready, applied = self.condition(Condition.READY), self.condition(Condition.APPLIED)
        return applied if not ready and applied.get("status") == "False" else ready


class Servers(NamedCollection[Server]):
    """The servers that a user may see.

    server = client.servers.create("lab", flavor="cpu-small", ttl="8h")
    client.servers.wait_ready("lab")
    client.servers.stop("lab")
    client.servers.delete("lab")
    """

    _kind, _item = _KIND, Server
    _noun, _see = "server", "see what there is with `devctl list`, everywhere with -A"
    _check_name = staticmethod(check_name)

    def snapshots(
        self,
        namespace: str | None = None,
        labels: Mapping[str, Any] | None = None,
        *,
        names: Sequence[str] = (),
    ) -> Iterator[Snapshot[Server]]:
        """All servers, or those of some names, now and after each change; never ends by itself.

        Raises:
            NotFoundError: One of the names does not exist, or all have been deleted.
            DevctlError: The first list failed, or access was denied later.
        """
        for name in names:
            self.get(name)
        for snapshot in self._snapshots(namespace, labels, names):
            yield snapshot
            if names and not snapshot.items:
                raise NotFoundError(
                    f"{', '.join(f'`{name}`' for name in names)} was deleted", _KEPT
                )

    def _snapshots(
        self, namespace: str | None, labels: Mapping[str, Any] | None, names: Sequence[str]
    ) -> Iterator[Snapshot[Server]]:
        last: Sequence[Server] | None = None
        only = names[0] if len(names) == 1 else None
        failures = 0
        while True:
            try:
                listed = self.list(namespace, labels)
                found = {each.uid: each for each in listed if not names or each.name in names}
                if last != (items := list(found.values())):
                    last = items
                    yield Snapshot(last)
                failures = 0
                for change in self._cluster.watch(
                    _KIND, namespace, name=only, labels=labels, seconds=_WINDOW
                ):
                    server = Server(change.object)
                    if change.type == "DELETED":
                        found.pop(server.uid, None)
                    elif not names or server.name in names:
                        found[server.uid] = server
                    if last != (items := list(found.values())):
                        last = items
                        yield Snapshot(last)
            except (DeniedError, NotFoundError, UsageError):
                raise
            except DevctlError as error:
                if last is None:
                    raise
                failures += 1
                yield Snapshot(last, f"{error.message}; trying again")
                time.sleep(backoff(failures))

    def manifest(self, name: str, **options: Unpack[CreateOptions]) -> Object:
        """What `create` would create; raises UsageError for invalid options or no image."""
        manifest = server_manifest(name, options)
        return manifest | {"spec": completed(self._cluster, manifest["spec"])}

    def create(
        self, name: str, *, dry_run: bool = False, **options: Unpack[CreateOptions]
    ) -> Server:
        """Create a server without waiting for it; on a `dry_run`, the API server only validates it.

        Raises:
            UsageError: The options are invalid.
            NotFoundError: The flavor does not exist.
            AlreadyExistsError: A server of that name exists.
            DeniedError: Permissions or a quota forbid it.
        """
        manifest = self.manifest(name, **options)
        check_flavor(self._cluster, options.get("flavor"))
        try:
            return Server(self._cluster.create(_KIND, manifest, dry_run=dry_run))
        except AlreadyExistsError as error:
            raise AlreadyExistsError(
                f"server `{name}` already exists in namespace `{self._cluster.namespace}`",
                f"look at it with `devctl describe {name}`, or choose another name",
            ) from error

    def stop(self, which: str | Server) -> Server:
        """Stop a server: its pods are deleted, its homes are kept."""
        return self._change(which, {"stopped": True})

    def start(self, which: str | Server) -> Server:
        """Start a stopped server; one that runs is left alone."""
        return self._change(which, {"stopped": False})

    def extend(self, which: str | Server, **by: Unpack[Extension]) -> Server:
        """Give a server more time before it is stopped or deleted.

        Args:
            which: The server.
            by: `ttl` and `max_runtime`: how long it is kept and may run from now on, and
                `delete_after_stopped`, if it is stopped already. `idle`: how long it may be idle.

        Raises UsageError if it would be kept for longer without this, or a duration is invalid.
        """
        server = self._known(which)
        return self._change(server, {"lifecycle": extended(server, by, datetime.now(UTC))})

    def hold(self, which: str | Server, length: int | str | None) -> Server:
        """Do not stop a server for some time, however idle it is; None ends that.

        Raises UsageError if the length is invalid.
        """
        end = None if length is None else datetime.now(UTC) + length_of(length)
        until = end and f"{end:%Y-%m-%dT%H:%M:%SZ}"
        return self._change(which, {"lifecycle": {"holdUntil": until}})

    def restart(
        self, name: str, seconds: float | None = TIMEOUT, progress: Progress = ignore
    ) -> Server:
        """Stop a server, wait until its pods are gone, and start it, without waiting any longer.

        Sessions and processes end; changes to its spec take effect. See wait_stopped.
        """
        server = self.get(name)
        if not server.stopped:
            server = self.stop(server)
        self.wait_stopped(name, seconds, progress)
        return self.start(server)

    def update(self, which: str | Server, **options: Unpack[CreateOptions]) -> Server:
        """Change some options of a server; raises UsageError if they are invalid.

        Changes to its pods wait for the next start; its condition RestartRequired says so.
        """
        server = self._known(which)
        return self._change(server, changed_spec(server, options))

    def edit(self, which: Server, change: Object, *, dry_run: bool = False) -> Server:
        """Merge a change into a server's spec; None removes a field; may raise UsageError."""
        return self._change(which, change, dry_run=dry_run)

    def wait_seen(self, name: str, seconds: float = _GLANCE) -> Server:
        """A server as soon as its status is about its current spec, or after some seconds."""
        server = self.get(name)
        for server in self._follow(name, seconds):
            if server.seen:
                break
        return server

    def waiting_for(self, which: str | Server) -> Waiting | None:
        """Why a server waits in its team's queue, and for how long; None if it does not.

        What the user may not see is left out.
        """
        from devctl.client.queues.waiting import server_waits  # noqa: PLC0415 - rarely used

        return server_waits(self._cluster, self._known(which))

    def limits(self, name: str, **options: Unpack[CreateOptions]) -> Sequence[Limit]:
        """What would keep a new server from starting at once, the binding limit first.

        Raises:
            UsageError: The options are invalid.
        """
        from devctl.client.queues.limits import limits  # noqa: PLC0415 - rarely used

        return limits(self._cluster, server_manifest(name, options))

    def wait_ready(
        self, name: str, seconds: float | None = TIMEOUT, progress: Progress = ignore
    ) -> Server:
        """Wait until all pods of a server are ready; None waits forever.

        Raises:
            WaitTimeoutError: They are not ready in time; says why.
            DevctlError: They never will be unless somebody changes something.
        """
        failed_since: float | None = None
        last: Server | None = None
        for last in self._follow(name, seconds):
            progress(last)
            if last.stopped:
                cause = f": {last.message}" if last.reason == PREEMPTED else ""
                fix = f"start it with `devctl start {name}`"
                raise DevctlError(f"`{name}` is stopped{cause}", fix)
            if last.ready and last.seen:
                return last
            failed = last.phase is Phase.FAILED and last.seen
            failed_since = (failed_since or time.monotonic()) if failed else None
            if failed_since and time.monotonic() - failed_since >= _PATIENCE:
                raise DevctlError(f"`{name}` cannot run: {_why(last)}", _look(name))
        raise WaitTimeoutError(
            f"`{name}` is not ready after {seconds or 0:.0f} s{_state(last)}",
            f"it keeps starting: {_look(name)}; `devctl delete {name}` cancels it",
        )

    def wait_stopped(
        self, name: str, seconds: float | None = TIMEOUT, progress: Progress = ignore
    ) -> Server:
        """Wait until all pods of a server are gone; None waits forever.

        Raises:
            WaitTimeoutError: They are not gone in time; says why.
            DevctlError: Somebody has started it meanwhile.
        """
        last: Server | None = None
        for last in self._follow(name, seconds):
            progress(last)
            if not last.stopped:
                raise DevctlError(
                    f"`{name}` was started meanwhile", f"stop it again with `devctl stop {name}`"
                )
            if last.phase is Phase.STOPPED and last.seen:
                return last
        raise WaitTimeoutError(
            f"`{name}` has not stopped after {seconds or 0:.0f} s{_state(last)}",
            f"it keeps stopping: {_look(name)}",
        )

    def wait_gone(
        self,
        name: str,
        uid: str,
        seconds: float | None = TIMEOUT,
        progress: Callable[[str], None] = ignore,
    ) -> None:
        """Wait until a deleted server and its pods are gone; see waiting.wait_gone."""

        def remains() -> str:
            pods = len([*self._cluster.list(resources.Pod, labels={DEVSERVER: name})])
            return f"{pods} of its pods still exist" if pods else ""

        wait_gone(name, uid, lambda: self.find(name), remains, seconds, _KEPT, progress)

    def _follow(self, name: str, seconds: float | None) -> Iterator[Server]:
        check_name(name)
        return map(Server, follow(self._cluster, _KIND, name, seconds, _KEPT))


def _state(last: Server | None) -> str:
    return f" ({last.phase}): {_why(last)}" if last else ""


def _why(server: Server) -> str:
    """Why a server is in its phase."""
    if not server.reason:
        return "the operator has not looked at it yet; check with `devctl doctor` whether it runs"
    return f"{server.reason}: {server.message}" if server.message else server.reason


def _look(name: str) -> str:
    return f"look with `devctl describe {name}`"
