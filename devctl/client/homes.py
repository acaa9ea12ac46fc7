"""Homes: the volumes at /home/dev, which outlive their servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from devctl.api.labels import DEVSERVER, MANAGED_BY, MANAGER
from devctl.client.objects import Collection, Field, Named, text
from devctl.errors import BusyError, NotFoundError, UsageError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from devctl.kube.cluster import Cluster, Object

_LABELS: dict[str, Any] = {MANAGED_BY: MANAGER, DEVSERVER: None}
"""Labels of every home."""
_PREFIX = "home-"
_ENDED = {"Succeeded", "Failed"}


@dataclass(frozen=True)
class Volume(Named):
    """The claim of a volume at one moment."""

    storage_class = Field(text, "spec", "storageClassName")
    phase = Field(lambda value: text(value) or "Pending", "status", "phase")
    """`Bound`, `Pending` or `Lost`."""

    @property
    def size(self) -> str:
        """Its capacity; the requested one until it is bound."""
        capacity = self.status.get("capacity") or {}
        wanted = (self.spec.get("resources") or {}).get("requests") or {}
        return str(capacity.get("storage") or wanted.get("storage") or "")


@dataclass(frozen=True)
class Home(Volume):
    """A home at one moment; `pods` are those that use it."""

    pods: Sequence[str] = ()

    server = Field(text, "metadata", "labels", DEVSERVER)
    """The server that it was created for, which may have been deleted."""

    @property
    def replica(self) -> int:
        """The replica of the server that it belongs to."""
        last = self.name.rpartition("-")[2]
        return int(last) if last.isdecimal() else 0

    @property
    def is_home(self) -> bool:
        """Whether devctl created it for a server."""
        ours = self.labels.get(MANAGED_BY) == MANAGER and bool(self.server)
        return ours and self.name.startswith(f"{_PREFIX}{self.server}-")


class Homes(Collection):
    """The homes that a user may see."""

    def list(self, namespace: str | None = None, *, server: str | None = None) -> Iterator[Home]:
        """The homes of a namespace, or of devctl.kube.cluster.EVERYWHERE, and the pods using them.

        `server` selects those of one server, even of a deleted one.
        """
        labels = _LABELS | ({DEVSERVER: server} if server else {})
        kind = resources.PersistentVolumeClaim
        homes = [
            home for home in map(Home, self._cluster.list(kind, namespace, labels)) if home.is_home
        ]
        used = mounts(self._cluster.list(resources.Pod, namespace)) if homes else {}
        homes.sort(key=lambda home: (home.namespace, home.server, home.replica))
        for home in homes:
            yield Home(home.raw, used.get((home.namespace, home.name), ()))

    def get(self, name: str) -> Home:
        """One home by its own name, such as `home-lab-0`.

        Raises:
            NotFoundError: It does not exist.
            UsageError: The claim of that name is not a home.
        """
        see = "see what there is with `devctl homes list`"
        raw = self._cluster.find(resources.PersistentVolumeClaim, name)
        if raw is None:
            where = f"in namespace `{self._cluster.namespace}`"
            raise NotFoundError(f"there is no home `{name}` {where}", see)
        home = Home(raw)
        if not home.is_home:
            raise UsageError(f"`{name}` is not a home of a server and is left alone", see)
        return Home(home.raw, users(self._cluster, home))

    def delete(self, which: str | Home) -> Home:
        """Delete a home and all files in it; the home as it was.

        Raises BusyError if a pod uses it or its server is about to, or if it was recreated since
        the given Home was read.
        """
        named = which if isinstance(which, str) else which.name
        home = self.get(named)
        if not isinstance(which, str) and home.uid != which.uid:
            raise BusyError(
                f"home `{named}` was recreated meanwhile and is left alone",
                "repeat the command if you mean the new one",
            )
        why = f"pod `{home.pods[0]}` uses it" if home.pods else ""
        if not why and self._wanted(home):
            why = f"server `{home.server}` is about to use it"
        if why:
            raise BusyError(
                f"home `{named}` is kept: {why}",
                f"stop or delete the server first: `devctl stop {home.server}`",
            )
        self._cluster.delete(resources.PersistentVolumeClaim, home.raw)
        return home

    def _wanted(self, home: Home) -> bool:
        """Whether a server exists that will start with it."""
        try:
            server = self._cluster.get(resources.DevServer, home.server, home.namespace)
        except NotFoundError:
            return False
        ends = "deletionTimestamp" in server["metadata"]
        return not ends and not server["spec"].get("stopped", False)


def users(cluster: Cluster, volume: Volume) -> Sequence[str]:
    """The names of the pods that use a volume."""
    used = mounts(cluster.list(resources.Pod, volume.namespace))
    return used.get((volume.namespace, volume.name), ())


def mounts(pods: Iterable[Object]) -> dict[tuple[str, str], list[str]]:
    """The pods that use each claim, by its namespace and name; pods that have ended use none."""
    found: dict[tuple[str, str], list[str]] = {}
    for pod in pods:
        if (pod.get("status") or {}).get("phase") in _ENDED:
            continue
        meta = pod["metadata"]
        for volume in pod["spec"].get("volumes") or []:
            if claim := (volume.get("persistentVolumeClaim") or {}).get("claimName"):
                found.setdefault((meta["namespace"], claim), []).append(meta["name"])
    return found
