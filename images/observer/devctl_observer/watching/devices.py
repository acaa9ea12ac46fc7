"""GPUs that nodes offer by claim, and all ResourceClaims; watched once for all kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lightkube.resources.resource_v1 import DeviceClass, ResourceClaim, ResourceSlice

from devctl.api.vllm_run import DRIVER
from devctl_observer.judging.devices import (
    Claim,
    Gpu,
    NamedResource,
    Slice,
    claim_of,
    named_resource,
    slice_of,
    valid_gpus,
)
from devctl_observer.judging.offers import NONE, Offer, offers, resources_of
from devctl_observer.watching.reflector import Followed
from devctl_observer.watching.store import Key, Store


class Devices:
    """The stores; a cluster without this API has nothing in them."""

    def __init__(self) -> None:
        """Start with empty stores."""
        self.claims: Store[Claim] = Store()
        self.classes: Store[NamedResource] = Store()
        self.listeners: list[Callable[[Claim | None, Claim | None], None]] = []
        """Told each change; the old and new state of a claim, or twice None."""
        self._slices: Store[Slice] = Store()
        self._gpus: tuple[Gpu, ...] | None = None
        self._offers: Mapping[str, Offer] | None = None

    @property
    def followed(self) -> Sequence[Followed]:
        """What is watched."""
        only = {"fields": {"spec.driver": DRIVER}}
        return [
            Followed(DeviceClass, self.classes, named_resource, self._changed, optional=True),
            Followed(ResourceClaim, self.claims, claim_of, self._claimed, optional=True),
            Followed(ResourceSlice, self._slices, slice_of, self._changed, only, optional=True),
        ]

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """All GPUs that are offered, by node and number."""
        if self._gpus is None:
            self._gpus = valid_gpus(self._slices)
        return self._gpus

    @property
    def named_claims(self) -> Sequence[tuple[Key, Claim]]:
        """All claims with their keys."""
        keys = self.claims.keys()
        return [(key, claim) for key in keys if (claim := self.claims.get(key))]

    @property
    def resources(self) -> frozenset[str]:
        """The resources by which a pod can request any of these GPUs."""
        return resources_of(self.classes)

    def offer(self, node: str) -> Offer:
        """How many of them a node has, and how many are taken."""
        if self._offers is None:
            self._offers = offers(self.gpus, self.claims)
        return self._offers.get(node, NONE)

    def _claimed(self, old: Claim | None, new: Claim | None) -> None:
        self._offers = None
        for listener in self.listeners:
            listener(old, new)

    def _changed(self, _old: object, _new: object) -> None:
        self._gpus = self._offers = None
        for listener in self.listeners:
            listener(None, None)
