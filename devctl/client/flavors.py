"""Flavors: what servers can run on, and how many more fit into the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from devctl.api.devserver import FlavorCondition
from devctl.api.devserver_user import DEFAULT_FLAVOR
from devctl.api.prices import CURRENCY, read_price
from devctl.api.quantities import GPU, gpus_in
from devctl.client.objects import Collection, Field, Named, mapping, text
from devctl.client.settings import annotations_of
from devctl.errors import DeniedError, NotFoundError, UsageError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from devctl.kube.cluster import Cluster


_REQUESTS = ("spec", "resources", "requests")


@dataclass(frozen=True)
class Flavor(Named):
    """A flavor at one moment."""

    default = Field(bool, "spec", "default")
    """Whether servers that name no flavor get it."""
    cordoned = Field(bool, "spec", "cordoned")
    """Whether it takes no new servers."""
    requests = Field(mapping, *_REQUESTS)
    """The resource requests of each pod."""
    limits = Field(mapping, "spec", "resources", "limits")
    """The resource limits of each pod."""
    cpu = Field(text, "spec", "resources", "requests", "cpu")
    memory = Field(text, "spec", "resources", "requests", "memory")
    gpus = Field(lambda requests: text(gpus_in(requests or {}) or None), *_REQUESTS)
    """How many GPUs each pod requests, however nodes hand them out; empty for none."""
    free = Field[int | None](lambda value: value, "status", "free")
    """How many more pods fit into the cluster now; None if unknown."""
    total = Field[int | None](lambda value: value, "status", "total")
    """How many pods would fit into an empty cluster; None if unknown."""
    schedulable = Field[bool | None](lambda value: value, "status", "schedulable")
    """Whether some node is large enough for a pod; None if unknown."""
    price = Field(read_price, "spec", "price")
    """What a pod of it costs; devctl.api.prices.NO_PRICE if it has no price."""

    @property
    def pod_price(self) -> int:
        """What an hour of a pod with its GPUs costs, in millionths of the currency."""
        return self.price.per_hour + self.price.per_gpu_hour * int(self.gpus or 0)

    @property
    def message(self) -> str:
        """Why it can or cannot be used."""
        fits = str(self.condition(FlavorCondition.SCHEDULABLE).get("message", ""))
        cordoned = "cordoned: takes no new servers" if self.cordoned else ""
        return "; ".join(filter(None, [cordoned, fits]))


class Flavors(Collection):
    """The flavors of a cluster."""

    def list(self) -> Sequence[Flavor]:
        """All flavors, by name."""
        found = map(Flavor, self._cluster.list(resources.DevServerFlavor))
        return sorted(found, key=lambda flavor: flavor.name)

    def create(  # noqa: PLR0913 - what a flavor consists of
        self,
        name: str,
        *,
        cpu: str,
        memory: str,
        gpus: int | None = None,
        cpu_limit: str | None = None,
        memory_limit: str | None = None,
        node_labels: Mapping[str, str] | None = None,
        default: bool = False,
        price: str | None = None,
        gpu_price: str | None = None,
        currency: str = CURRENCY,
        dry_run: bool = False,
    ) -> Flavor:
        """Create a flavor, as an administrator.

        Args:
            name: Its name.
            cpu: The cores that each pod requests.
            memory: The memory that each pod requests.
            gpus: The GPUs of each pod.
            cpu_limit: The cores that a pod may use at most; default: all of its node.
            memory_limit: The memory that a pod may use at most; default: what it requests.
            node_labels: The labels of the nodes that it needs.
            default: Whether servers that name no flavor get it.
            price: What an hour of a pod costs, such as `1.20`.
            gpu_price: What an hour of each GPU costs in addition.
            currency: Of both, such as `EUR`.
            dry_run: Only have the API server check it.

        Raises:
            AlreadyExistsError: There is a flavor of that name.
        """
        devices = {GPU: gpus} if gpus else {}
        prices = {"perHour": price, "perGPUHour": gpu_price}
        costs = {name: amount for name, amount in prices.items() if amount is not None}
        limits = {"memory": memory_limit or memory, **({"cpu": cpu_limit} if cpu_limit else {})}
        spec = {
            "default": default,
            "resources": {
                "requests": {"cpu": cpu, "memory": memory, **devices},
                "limits": limits | devices,
            },
            **({"nodeSelector": dict(node_labels)} if node_labels else {}),
            **({"price": {**costs, "currency": currency}} if costs else {}),
        }
        made = {"metadata": {"name": name}, "spec": spec}
        return Flavor(self._cluster.create(resources.DevServerFlavor, made, dry_run=dry_run))

    def get(self, name: str) -> Flavor:
        """One flavor; raises NotFoundError if it does not exist."""
        found = self._cluster.find(resources.DevServerFlavor, name)
        if found is None:
            raise NotFoundError(
                f"there is no flavor `{name}`", "see what there is with `devctl flavors`"
            )
        return Flavor(found)

    def cordon(self, which: str | Flavor) -> Flavor:
        """Refuse new servers of a flavor, as an administrator; existing ones keep it.

        Raises:
            NotFoundError: It does not exist.
        """
        return self._set_cordoned(which, cordoned=True)

    def uncordon(self, which: str | Flavor) -> Flavor:
        """Take new servers of a flavor again; raises NotFoundError if it does not exist."""
        return self._set_cordoned(which, cordoned=False)

    def _set_cordoned(self, which: str | Flavor, *, cordoned: bool) -> Flavor:
        found = self.get(which) if isinstance(which, str) else which
        change = {"metadata": {"uid": found.uid}, "spec": {"cordoned": cordoned}}
        return Flavor(self._cluster.patch(resources.DevServerFlavor, found.name, change))


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
        if DEFAULT_FLAVOR in annotations_of(cluster):
            return
        found = flavors.list()
    except DeniedError:
        # The operator will report it instead.
        return
    defaults = [flavor.name for flavor in found if flavor.default]
    if len(defaults) == 1:
        return
    what = f"{len(defaults)} flavors are the default" if defaults else "no flavor is the default"
    free = [flavor for flavor in found if not flavor.cordoned]
    some = ", ".join(f"`{flavor.name}`" for flavor in free[:5])
    raise UsageError(
        f"no flavor is named, and {what}",
        f"name one with --flavor: {some}"
        if some
        else "have an administrator create a flavor, or uncordon one",
    )
