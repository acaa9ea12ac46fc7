"""Flavors: what servers can run on, and how much of it is free."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from devctl.api.devserver import FlavorCondition
from devctl.api.placing import Needs, Toleration, effective_requests, room
from devctl.client.capacity import node_facts, usage
from devctl.client.named import Named
from devctl.errors import DeniedError, NotFoundError, UsageError
from devctl.kube import resources
from devctl.kube.cluster import EVERYWHERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.kube.cluster import Cluster

_GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class Flavor(Named):
    """A flavor at one moment.

    Attributes:
        free: How many more pods of it the cluster can hold now; None where that is not known.
        total: How many it could hold were it empty; None where that is not known.
    """

    free: int | None = None
    total: int | None = None

    @property
    def spec(self) -> dict[str, Any]:
        """What an administrator wants."""
        found: dict[str, Any] = self.raw.get("spec") or {}
        return found

    @property
    def default(self) -> bool:
        """Whether servers that name no flavor get it."""
        return bool(self.spec.get("default", False))

    @property
    def requests(self) -> dict[str, Any]:
        """What each pod asks for."""
        return dict((self.spec.get("resources") or {}).get("requests") or {})

    @property
    def limits(self) -> dict[str, Any]:
        """What each pod may use at most."""
        return dict((self.spec.get("resources") or {}).get("limits") or {})

    @property
    def cpu(self) -> str:
        """Processors that each pod asks for."""
        return str(self.requests.get("cpu", ""))

    @property
    def memory(self) -> str:
        """Memory that each pod asks for."""
        return str(self.requests.get("memory", ""))

    @property
    def gpus(self) -> str:
        """GPUs that each pod gets."""
        return str(self.requests.get(_GPU, ""))

    @property
    def schedulable(self) -> bool | None:
        """Whether some node could hold a pod of it; None until somebody has looked."""
        found = (self.raw.get("status") or {}).get("schedulable")
        return None if found is None else bool(found)

    @property
    def message(self) -> str:
        """Why it can be used, or why it cannot."""
        conditions = (self.raw.get("status") or {}).get("conditions") or []
        found = [c for c in conditions if c["type"] == FlavorCondition.SCHEDULABLE]
        return str(found[0].get("message", "")) if found else ""

    def document(self) -> dict[str, Any]:
        """All of it, as JSON takes it; the counts that are known stand in its status."""
        counts = {"free": self.free, "total": self.total}
        known = {name: count for name, count in counts.items() if count is not None}
        return {**self.raw, "status": {**(self.raw.get("status") or {}), **known}}

    @property
    def needs(self) -> Needs:
        """What it asks of the node of each pod."""
        tolerations = [
            Toleration(*(str(each.get(name) or "") for name in Toleration._fields))
            for each in self.spec.get("tolerations") or []
        ]
        requests = effective_requests(self.requests, self.limits)
        return Needs(requests, self.spec.get("nodeSelector") or {}, tolerations)


class Flavors:
    """The flavors of a cluster.

    for flavor in client.flavors.list():
        print(flavor.name, flavor.free, flavor.total)
    """

    def __init__(self, cluster: Cluster) -> None:
        """Ask nothing yet."""
        self._cluster = cluster

    def list(self, *, counted: bool = True) -> Sequence[Flavor]:
        """All flavors, by name.

        Args:
            counted: Whether to count how many pods of each there is room for. Who may not see the
                nodes, or the pods of others, gets no count.
        """
        found = [Flavor(raw) for raw in self._cluster.list(resources.DevServerFlavor)]
        found.sort(key=lambda flavor: flavor.name)
        return self._counted(found) if counted else found

    def get(self, name: str) -> Flavor:
        """One flavor.

        Raises:
            NotFoundError: There is none of that name.
        """
        try:
            return Flavor(self._cluster.get(resources.DevServerFlavor, name))
        except NotFoundError as error:
            if "not found" not in error.message:
                raise
            raise _unknown(name) from error

    def _counted(self, flavors: Sequence[Flavor]) -> Sequence[Flavor]:
        try:
            nodes = [node_facts(node) for node in self._cluster.list(resources.Node)]
        except DeniedError:
            return flavors
        totals = {f.name: sum(room(f.needs, node) for node in nodes) for f in flavors}
        flavors = [replace(f, total=totals[f.name]) for f in flavors]
        try:
            used = usage(self._cluster.list(resources.Pod, EVERYWHERE))
        except DeniedError:
            return flavors
        return [
            replace(f, free=sum(room(f.needs, node, used.get(node.name)) for node in nodes))
            for f in flavors
        ]


def check_flavor(cluster: Cluster, name: str | None) -> None:
    """See before a server is made that there is its flavor.

    Args:
        cluster: Where.
        name: The flavor; None for the default one.

    Raises:
        NotFoundError: There is none of that name.
        UsageError: There is none, or more than one, that servers get that name none.
    """
    try:
        if name is not None:
            Flavors(cluster).get(name)
            return
        flavors = Flavors(cluster).list(counted=False)
    except DeniedError:
        # Then the operator says so.
        return
    defaults = [flavor.name for flavor in flavors if flavor.default]
    if len(defaults) == 1:
        return
    what = f"{len(defaults)} flavors are the default" if defaults else "no flavor is the default"
    there = ", ".join(f"`{flavor.name}`" for flavor in flavors[:5])
    raise UsageError(
        f"no flavor is named, and {what}",
        f"name one with --flavor: {there}"
        if there
        else "have an administrator make a DevServerFlavor",
    )


def _unknown(name: str) -> NotFoundError:
    return NotFoundError(f"there is no flavor `{name}`", "see what there is with `devctl flavors`")
