"""Homes: the volumes at /home/dev, which outlive the servers that they were made for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from devctl.api.labels import DEVSERVER, MANAGED_BY, MANAGER
from devctl.client.named import Named
from devctl.errors import BusyError, NotFoundError, UsageError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from devctl.kube.cluster import Cluster, Object

_LABELS: dict[str, Any] = {MANAGED_BY: MANAGER, DEVSERVER: None}
"""What every home carries."""
_PREFIX = "home-"
_ENDED = {"Succeeded", "Failed"}


@dataclass(frozen=True)
class Home(Named):
    """A home at one moment.

    Attributes:
        pods: The pods that have it in use.
    """

    pods: Sequence[str] = ()

    @property
    def server(self) -> str:
        """The server that it was made for, which may be gone."""
        return self.labels.get(DEVSERVER, "")

    @property
    def replica(self) -> int:
        """Which of the server's pods has it."""
        last = self.name.rpartition("-")[2]
        return int(last) if last.isdecimal() else 0

    @property
    def size(self) -> str:
        """How large it is; how large it is to be while it has no volume yet."""
        capacity = (self.raw.get("status") or {}).get("capacity") or {}
        wanted = ((self.raw.get("spec") or {}).get("resources") or {}).get("requests") or {}
        return str(capacity.get("storage") or wanted.get("storage") or "")

    @property
    def phase(self) -> str:
        """`Bound` where it has its volume, else `Pending` or `Lost`."""
        return str((self.raw.get("status") or {}).get("phase") or "Pending")

    @property
    def storage_class(self) -> str:
        """What its volume is made of."""
        return str((self.raw.get("spec") or {}).get("storageClassName") or "")

    @property
    def is_home(self) -> bool:
        """Whether devctl made it for a server."""
        ours = self.labels.get(MANAGED_BY) == MANAGER and bool(self.server)
        return ours and self.name.startswith(f"{_PREFIX}{self.server}-")


class Homes:
    """The homes that a user may see.

    for home in client.homes.list():
        print(home.name, home.size, home.server)
    """

    def __init__(self, cluster: Cluster) -> None:
        """Ask nothing yet."""
        self._cluster = cluster

    def list(self, namespace: str | None = None, *, server: str | None = None) -> Iterator[Home]:
        """The homes of a namespace, or of devctl.kube.cluster.EVERYWHERE, with who uses them.

        Args:
            namespace: Else the user's.
            server: Only those of this server, whether it is still there or not.
        """
        labels = _LABELS | ({DEVSERVER: server} if server else {})
        kind = resources.PersistentVolumeClaim
        found = [Home(raw) for raw in self._cluster.list(kind, namespace, labels)]
        homes = [home for home in found if home.is_home]
        used = mounts(self._cluster.list(resources.Pod, namespace)) if homes else {}
        homes.sort(key=lambda home: (home.namespace, home.server, home.replica))
        for home in homes:
            yield Home(home.raw, used.get((home.namespace, home.name), ()))

    def get(self, name: str) -> Home:
        """One home, by its own name: `home-lab-0`.

        Raises:
            NotFoundError: There is none of that name.
            UsageError: What has that name is not a home.
        """
        see = "see what there is with `devctl homes list`"
        raw = self._cluster.find(resources.PersistentVolumeClaim, name)
        if raw is None:
            where = f"in namespace `{self._cluster.namespace}`"
            raise NotFoundError(f"there is no home `{name}` {where}", see)
        home = Home(raw)
        if not home.is_home:
            raise UsageError(f"`{name}` is not a home of a server and is left alone", see)
        pods = mounts(self._cluster.list(resources.Pod))
        return Home(home.raw, pods.get((home.namespace, home.name), ()))

    def delete(self, which: str | Home) -> Home:
        """Delete exactly this home, and all files in it; the home as it was.

        Args:
            which: Its name; or the home itself, so that no new one of that name is deleted.

        Raises:
            BusyError: A pod uses it, or its server is about to.
        """
        named = which if isinstance(which, str) else which.name
        home = self.get(named)
        if not isinstance(which, str) and home.uid != which.uid:
            raise BusyError(
                f"home `{named}` was recreated meanwhile and is left alone",
                "repeat the command if you mean the new one",
            )
        if home.pods:
            raise BusyError(
                f"home `{named}` is kept: pod `{home.pods[0]}` uses it",
                f"stop or delete the server first: `devctl stop {home.server}`",
            )
        if self._wanted(home):
            raise BusyError(
                f"home `{named}` is kept: server `{home.server}` is about to use it",
                f"stop or delete the server first: `devctl stop {home.server}`",
            )
        self._cluster.delete(resources.PersistentVolumeClaim, home.raw)
        return home

    def _wanted(self, home: Home) -> bool:
        """Whether a server is there that starts with it."""
        try:
            server = self._cluster.get(resources.DevServer, home.server, home.namespace)
        except NotFoundError:
            return False
        ends = "deletionTimestamp" in server["metadata"]
        return not ends and not server["spec"].get("stopped", False)


def mounts(pods: Iterable[Object]) -> dict[tuple[str, str], list[str]]:
    """By namespace and name the claims that pods have in use, each with the pods' names.

    A pod that has ended uses nothing any more.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for pod in pods:
        if (pod.get("status") or {}).get("phase") in _ENDED:
            continue
        meta = pod["metadata"]
        for volume in pod["spec"].get("volumes") or []:
            if claim := (volume.get("persistentVolumeClaim") or {}).get("claimName"):
                found.setdefault((meta["namespace"], claim), []).append(meta["name"])
    return found
