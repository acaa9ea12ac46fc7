"""GPUs that nodes offer by claim (dynamic resource allocation), and what ResourceClaims hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from lightkube.models.resource_v1 import Device, DeviceRequest
from lightkube.resources.resource_v1 import DeviceClass, ResourceClaim, ResourceSlice

from devctl.api.vllm_run import LABEL
from devctl_observer.judging.model import labels_of, meta_of, notes_of

_ALL_OF = re.compile(r"""\s*device\.driver\s*==\s*(['"])(?P<driver>[a-z0-9.-]+)\1\s*""")
"""The CEL expression that selects every device of a driver."""
FOR_REQUESTS = "resource.kubernetes.io/extended-resource-claim"
"""The scheduler's annotation of a claim that it has made for what a pod requests as a resource."""


class Held(NamedTuple):
    """A device that a claim holds."""

    node: str
    """Its pool, which drivers of a node's devices name after the node."""
    driver: str
    device: str
    of_class: str
    """The DeviceClass by which it was asked for."""


class Claim(NamedTuple):
    """What is stored of a claim."""

    uid: str = ""
    held: tuple[Held, ...] = ()
    """The devices that it holds, without those that it only looks at as an administrator."""
    run: str = ""
    """The VLLMRun that it is for; empty if it is for none."""
    pod: str = ""
    """The pod for whose request the scheduler has made it; empty if it was made otherwise."""
    owners: frozenset[str] = frozenset()
    """The UIDs of its owners."""
    going: bool = False
    """Whether it is being deleted."""


class Gpu(NamedTuple):
    """A GPU that a node offers."""

    node: str
    device: str
    """Its name there."""
    number: int | None = None
    """Its index there, as the tools of the node count."""
    uuid: str = ""
    model: str = ""
    made_up: bool = False
    """Whether it exists in name only."""
    unhealthy: bool = False


class Slice(NamedTuple):
    """What is stored of a ResourceSlice."""

    pool: str
    generation: int
    """Only slices of a pool's highest generation are valid."""
    gpus: tuple[Gpu, ...]


def claim_of(claim: ResourceClaim) -> Claim:
    """What is stored of a claim."""
    meta = meta_of(claim.metadata)
    owners = (claim.metadata.ownerReferences if claim.metadata else None) or []
    requested = notes_of(claim).get(FOR_REQUESTS) == "true"
    pod = next((owner.name for owner in owners if requested and owner.kind == "Pod"), "")
    return Claim(
        uid=meta.uid,
        held=_held(claim),
        run=labels_of(claim).get(LABEL, ""),
        pod=pod,
        owners=frozenset(owner.uid for owner in owners),
        going=meta.deletion_timestamp is not None,
    )


def _held(claim: ResourceClaim) -> tuple[Held, ...]:
    devices = claim.spec.devices if claim.spec else None
    allocation = claim.status.allocation if claim.status else None
    if allocation is None or allocation.devices is None:
        return ()
    classes = _classes((devices.requests if devices else None) or [])
    return tuple(
        Held(found.pool, found.driver, found.device, classes.get(found.request, ""))
        for found in allocation.devices.results or []
        # Others use the device beside an administrator.
        if not found.adminAccess
    )


def _classes(requests: Sequence[DeviceRequest]) -> Mapping[str, str]:
    """The DeviceClass of each request, by its name in a result: `request`, or `request/choice`."""
    found = {each.name: each.exactly.deviceClassName for each in requests if each.exactly}
    for each in requests:
        for choice in each.firstAvailable or []:
            found[f"{each.name}/{choice.name}"] = choice.deviceClassName
    return found


class NamedResource(NamedTuple):
    """What is stored of a DeviceClass."""

    resource: str = ""
    """As which pods can request its devices; empty if only claims can."""
    driver: str = ""
    """The driver whose devices it has all of; empty if it selects in another way."""


def named_resource(found: DeviceClass) -> NamedResource:
    """What is stored of a DeviceClass."""
    name = (found.spec.extendedResourceName if found.spec else None) or ""
    selectors = (found.spec.selectors if found.spec else None) or []
    cels = [selector.cel.expression for selector in selectors if selector.cel]
    whole = _ALL_OF.fullmatch(cels[0]) if len(cels) == len(selectors) == 1 else None
    return NamedResource(name, whole["driver"] if whole else "")


def slice_of(found: ResourceSlice) -> Slice:
    """What is stored of a ResourceSlice of the driver of our GPUs."""
    spec = found.spec
    pool, node = spec.pool, spec.nodeName or spec.pool.name
    return Slice(pool.name, pool.generation, tuple(_gpu(node, d) for d in spec.devices or []))


def valid_gpus(slices: Iterable[Slice]) -> tuple[Gpu, ...]:
    """All GPUs that are offered, by node and number.

    While a driver replaces its slices, those of the earlier generation are still there.
    """
    known = list(slices)
    newest: dict[str, int] = {}
    for each in known:
        newest[each.pool] = max(each.generation, newest.get(each.pool, 0))
    gpus = [gpu for one in known if one.generation == newest[one.pool] for gpu in one.gpus]
    return tuple(sorted(gpus, key=lambda gpu: (gpu.node, _number(gpu), gpu.device)))


def _gpu(node: str, device: Device) -> Gpu:
    found = {_plain(name): value for name, value in (device.attributes or {}).items()}

    def value(name: str, kind: str) -> Any:
        # lightkube leaves attributes as they are.
        return (found.get(name) or {}).get(kind)

    taints = device.taints or []
    return Gpu(
        node,
        device.name,
        number=value("index", "int"),
        uuid=value("uuid", "string") or "",
        model=value("model", "string") or "",
        made_up=bool(value("madeUp", "bool")),
        unhealthy=any(taint.effect in {"NoSchedule", "NoExecute"} for taint in taints),
    )


def _plain(name: str) -> str:
    """The name of an attribute without its domain, which is the driver's if it has none."""
    return name.rpartition("/")[2]


def _number(gpu: Gpu) -> int:
    return -1 if gpu.number is None else gpu.number
