"""Flavors: what servers can run on, and how much of it is free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from devctl.api.conditions import find
from devctl.api.devserver import FlavorCondition
from devctl.client.named import Named
from devctl.errors import DeniedError, NotFoundError, UsageError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.kube.cluster import Cluster

_GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class Flavor(Named):
    """A flavor at one moment."""

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
    def status(self) -> dict[str, Any]:
        """What the observer sees; empty until it has looked."""
        found: dict[str, Any] = self.raw.get("status") or {}
        return found

    @property
    def free(self) -> int | None:
        """How many more pods of it the cluster can hold now; None until somebody has looked."""
        found: int | None = self.status.get("free")
        return found

    @property
    def total(self) -> int | None:
        """How many the cluster could hold were it empty; None until somebody has looked."""
        found: int | None = self.status.get("total")
        return found

    @property
    def schedulable(self) -> bool | None:
        """Whether some node could hold a pod of it; None until somebody has looked."""
        found: bool | None = self.status.get("schedulable")
        return found

    @property
    def message(self) -> str:
        """Why it can be used, or why it cannot."""
        return str(find(self.status, FlavorCondition.SCHEDULABLE).get("message", ""))


class Flavors:
    """The flavors of a cluster.

    for flavor in client.flavors.list():
        print(flavor.name, flavor.free, flavor.total)
    """

    def __init__(self, cluster: Cluster) -> None:
        """Ask nothing yet."""
        self._cluster = cluster

    def list(self) -> Sequence[Flavor]:
        """All flavors, by name."""
        found = [Flavor(raw) for raw in self._cluster.list(resources.DevServerFlavor)]
        return sorted(found, key=lambda flavor: flavor.name)

    def get(self, name: str) -> Flavor:
        """One flavor.

        Raises:
            NotFoundError: There is none of that name.
        """
        found = self._cluster.find(resources.DevServerFlavor, name)
        if found is None:
            raise _unknown(name)
        return Flavor(found)


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
        flavors = Flavors(cluster).list()
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
