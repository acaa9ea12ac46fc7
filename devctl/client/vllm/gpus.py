"""Which GPUs nodes offer by claim, and who has them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.api.quantities import parse_quantity
from devctl.api.vllm_run import DRIVER, RESERVATIONS_UNKNOWN, RESERVED
from devctl.client.gpu_ledger.devices import Offered, held, offered
from devctl.client.objects import Collection
from devctl.errors import DeniedError, NotFoundError
from devctl.kube import resources
from devctl.kube.cluster import EVERYWHERE
from devctl.kube.failures import NO_SUCH_KIND

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from devctl.client.gpu_ledger.devices import Holder
    from devctl.kube.cluster import Object


class State(StrEnum):
    """What can be done with a GPU."""

    FREE = "Free"
    CLAIMED = "Claimed"
    RESERVED = "Reserved"
    """The host's own tool has given it to somebody."""
    UNHEALTHY = "Unhealthy"
    """It may still be claimed."""
    UNKNOWN = "Unknown"
    """Somebody may have it: it cannot be seen, or its driver does not know."""


@dataclass(frozen=True)
class Gpu:
    """A GPU that a node offers."""

    node: str
    device: str
    """Its name there."""
    state: State
    holder: Holder | None
    """For whom a claim holds it."""
    reserved_for: str
    """Who has reserved it on its node; if it is claimed as well, both may use it."""
    index: int | None
    """Its number, as the tools of the node count."""
    uuid: str
    model: str
    memory: int | None
    """In bytes."""
    made_up: bool
    """Whether it exists in name only."""

    def document(self) -> dict[str, Any]:
        """For programs."""
        found = asdict(self)
        found["state"] = str(self.state)
        found["madeUp"] = found.pop("made_up")
        found["reservedFor"] = found.pop("reserved_for")
        found["holder"] = self.holder._asdict() if self.holder else None
        return {name: value for name, value in found.items() if value not in (None, "")}


class Gpus(NamedTuple):
    """The GPUs that a user may see, by node and number."""

    gpus: Sequence[Gpu]
    offered: bool
    """Whether they are all that nodes offer; else only those that claims hold."""
    hidden: bool
    """Whether the user may not see the claims of other namespaces."""

    @property
    def complete(self) -> bool:
        """Whether the user may see everything."""
        return self.offered and not self.hidden


class GpuStatus(Collection):
    """Who has which GPU, as far as the user may see."""

    def __call__(self) -> Gpus:
        """Look once.

        Raises:
            NotFoundError: The cluster cannot allocate GPUs by claim.
        """
        only = {"spec.driver": DRIVER}
        slices: Sequence[Object] | None = None
        try:
            slices = list(self._cluster.list(resources.ResourceSlice, fields=only))
        except DeniedError:
            pass
        except NotFoundError as error:
            if error.reason != NO_SUCH_KIND:
                raise
            raise NotFoundError(
                "the cluster has no dynamic resource allocation (resource.k8s.io/v1)",
                "ask an administrator for Kubernetes 1.34 or later",
            ) from error
        claims, hidden = self._claims()
        gpus = judge_held(claims) if slices is None else judge(slices, claims, hidden=hidden)
        return Gpus(gpus, slices is not None, hidden)

    def _claims(self) -> tuple[Sequence[Object], bool]:
        """All claims that the user may see, and whether there may be more."""
        for where in (EVERYWHERE, None):
            try:
                return list(self._cluster.list(resources.ResourceClaim, where)), where is None
            except DeniedError:
                continue
        return [], True


def judge(slices: Iterable[Object], claims: Iterable[Object], *, hidden: bool) -> Sequence[Gpu]:
    """The GPUs of slices, and who has them.

    Without the claims that are `hidden`, a GPU of which nobody is known may not be free.
    """
    holders = {hold.key: hold.holder for claim in claims for hold in held(claim)}
    gpus = [_gpu(each, holders.get(each.key), hidden=hidden) for each in offered(slices)]
    return sorted(gpus, key=lambda gpu: (gpu.node, -1 if gpu.index is None else gpu.index))


def judge_held(claims: Iterable[Object]) -> Sequence[Gpu]:
    """The GPUs that claims hold, for who may not see what nodes offer."""
    holds = [hold for claim in claims for hold in held(claim)]
    found = [
        _gpu(Offered(hold.key, hold.key.pool, {}), hold.holder, hidden=False) for hold in holds
    ]
    return sorted(found, key=lambda gpu: (gpu.node, gpu.device))


def _gpu(found: Offered, holder: Holder | None, *, hidden: bool) -> Gpu:
    amounts = {
        name.rpartition("/")[2]: value
        for name, value in (found.device.get("capacity") or {}).items()
    }
    taints = found.taints
    return Gpu(
        node=found.node,
        device=found.key.name,
        state=_state(taints, holder, hidden=hidden),
        holder=holder,
        reserved_for=taints.get(RESERVED, ""),
        index=found.value("index", "int"),
        uuid=found.value("uuid", "string") or "",
        model=found.value("model", "string") or "",
        memory=_bytes((amounts.get("memory") or {}).get("value")),
        made_up=bool(found.value("madeUp", "bool")),
    )


def _state(taints: Mapping[str, str], holder: Holder | None, *, hidden: bool) -> State:
    if taints.keys() - {RESERVED, RESERVATIONS_UNKNOWN}:
        return State.UNHEALTHY
    if holder:
        return State.CLAIMED
    if RESERVED in taints:
        return State.RESERVED
    return State.UNKNOWN if hidden or RESERVATIONS_UNKNOWN in taints else State.FREE


def _bytes(amount: object) -> int | None:
    try:
        return int(parse_quantity(str(amount))) if amount else None
    except ValueError:
        return None
