"""Flavors: what servers can run on, and how many more fit into the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from devctl.api.devserver import FlavorCondition
from devctl.client.objects import Collection, Field, Named, mapping, text
from devctl.errors import DeniedError, NotFoundError, UsageError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.kube.cluster import Cluster


@dataclass(frozen=True)
class Flavor(Named):
    """A flavor at one moment."""

    default = Field(bool, "spec", "default")
    """Whether servers that name no flavor get it."""
    requests = Field(mapping, "spec", "resources", "requests")
    """The resource requests of each pod."""
    limits = Field(mapping, "spec", "resources", "limits")
    """The resource limits of each pod."""
    cpu = Field(text, "spec", "resources", "requests", "cpu")
    memory = Field(text, "spec", "resources", "requests", "memory")
    gpus = Field(text, "spec", "resources", "requests", "nvidia.com/gpu")
    free = Field[int | None](lambda value: value, "status", "free")
    """How many more pods fit into the cluster now; None if unknown."""
    total = Field[int | None](lambda value: value, "status", "total")
    """How many pods would fit into an empty cluster; None if unknown."""
    schedulable = Field[bool | None](lambda value: value, "status", "schedulable")
    """Whether some node is large enough for a pod; None if unknown."""

    @property
    def message(self) -> str:
        """Why it can or cannot be used."""
        return str(self.condition(FlavorCondition.SCHEDULABLE).get("message", ""))


class Flavors(Collection):
    """The flavors of a cluster."""

    def list(self) -> Sequence[Flavor]:
        """All flavors, by name."""
        found = map(Flavor, self._cluster.list(resources.DevServerFlavor))
        return sorted(found, key=lambda flavor: flavor.name)

    def get(self, name: str) -> Flavor:
        """One flavor; raises NotFoundError if it does not exist."""
        found = self._cluster.find(resources.DevServerFlavor, name)
        if found is None:
            raise NotFoundError(
                f"there is no flavor `{name}`", "see what there is with `devctl flavors`"
            )
        return Flavor(found)


def check_flavor(cluster: Cluster, name: str | None) -> None:
    """Check that a flavor exists before a server is created; None means the default one.

    Raises:
        NotFoundError: It does not exist.
        UsageError: There is not exactly one default flavor.
    """
    flavors = Flavors(cluster)
    try:
        if name is not None:
            flavors.get(name)
            return
        found = flavors.list()
    except DeniedError:
        # The operator will report it instead.
        return
    defaults = [flavor.name for flavor in found if flavor.default]
    if len(defaults) == 1:
        return
    what = f"{len(defaults)} flavors are the default" if defaults else "no flavor is the default"
    some = ", ".join(f"`{flavor.name}`" for flavor in found[:5])
    raise UsageError(
        f"no flavor is named, and {what}",
        f"name one with --flavor: {some}"
        if some
        else "have an administrator create a DevServerFlavor",
    )
