"""GPUs that ResourceClaims hold (dynamic resource allocation), beside those that pods request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lightkube.models.resource_v1 import DeviceRequest
from lightkube.resources.resource_v1 import DeviceClass, ResourceClaim

from devctl.api.quantities import GPU
from devctl_observer.judging.model import notes_of
from devctl_observer.watching.reflector import Followed
from devctl_observer.watching.store import Store

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


def held(claim: ResourceClaim) -> tuple[Held, ...]:
    """What is stored of a claim: the devices that it holds, and that nothing else counts.

    A claim for what its pod requests as a resource holds none: the request is counted. Nor does
    one for an administrator's access, beside which others use the device.
    """
    devices = claim.spec.devices if claim.spec else None
    allocation = claim.status.allocation if claim.status else None
    if allocation is None or allocation.devices is None or _is_for_requests(claim):
        return ()
    classes = _classes((devices.requests if devices else None) or [])
    return tuple(
        Held(found.pool, found.driver, found.device, classes.get(found.request, ""))
        for found in allocation.devices.results or []
        if not found.adminAccess
    )


def claimed_gpus(claims: Iterable[Sequence[Held]], classes: Container[str]) -> Mapping[str, int]:
    """The number of GPUs that claims hold, by node.

    Args:
        claims: What each claim holds. One that several share counts once.
        classes: The DeviceClasses whose devices are GPUs.
    """
    found = {each[:3] for claim in claims for each in claim if each.of_class in classes}
    return Counter(node for node, *_ in found)


def resource_name(found: DeviceClass) -> str:
    """What is stored of a DeviceClass: the resource as which pods can request its devices."""
    return (found.spec.extendedResourceName if found.spec else None) or ""


@dataclass
class ClaimedGpus:
    """All claims and DeviceClasses; a cluster without this API has none."""

    claims: Store[tuple[Held, ...]] = field(default_factory=Store)
    classes: Store[str] = field(default_factory=Store)
    _known: Mapping[str, int] | None = None

    @property
    def followed(self) -> Sequence[Followed]:
        """What is watched."""
        return [
            Followed(DeviceClass, self.classes, resource_name, self.changed, optional=True),
            Followed(ResourceClaim, self.claims, held, self.changed, optional=True),
        ]

    def changed(self, _old: object, _new: object) -> None:
        """Count again when asked."""
        self._known = None

    def on(self, node: str) -> int:
        """The number of GPUs that claims hold on a node."""
        if self._known is None:
            gpus = {key.name for key in self.classes.keys() if self.classes.get(key) == GPU}  # noqa: SIM118 - a Store is not a dict
            self._known = claimed_gpus(self.claims, gpus)
        return self._known.get(node, 0)


def _is_for_requests(claim: ResourceClaim) -> bool:
    owners = (claim.metadata.ownerReferences if claim.metadata else None) or []
    return notes_of(claim).get(FOR_REQUESTS) == "true" and any(o.kind == "Pod" for o in owners)


def _classes(requests: Sequence[DeviceRequest]) -> Mapping[str, str]:
    """The DeviceClass of each request, by its name in a result: `request`, or `request/choice`."""
    found = {each.name: each.exactly.deviceClassName for each in requests if each.exactly}
    for each in requests:
        for choice in each.firstAvailable or []:
            found[f"{each.name}/{choice.name}"] = choice.deviceClassName
    return found
