"""Devices that nodes offer by claim, and what ResourceClaims hold of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.api.vllm_run import DRIVER, LABEL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from devctl.kube.cluster import Object

FOR_REQUESTS = "resource.kubernetes.io/extended-resource-claim"
"""The scheduler's annotation of a claim that it has made for what a pod requests as a resource."""
NVIDIA = "gpu.nvidia.com"
"""NVIDIA's own driver of GPUs."""
DRIVERS = (DRIVER, NVIDIA)
_KEEP_OUT = {"NoSchedule", "NoExecute"}


class DeviceKey(NamedTuple):
    """What identifies a device in the cluster."""

    driver: str
    pool: str
    name: str


class Offered(NamedTuple):
    """A device as a node offers it."""

    key: DeviceKey
    node: str
    device: Object

    def value(self, name: str, kind: str) -> Any:
        """An attribute of a kind such as `string`, whatever its domain; None without it."""
        for full, value in (self.device.get("attributes") or {}).items():
            if full.rpartition("/")[2] == name:
                return (value or {}).get(kind)
        return None

    @property
    def taints(self) -> dict[str, str]:
        """What keeps new claims away from it: the values of taints by their keys."""
        return {
            str(taint.get("key")): str(taint.get("value") or "(unknown)")
            for taint in self.device.get("taints") or []
            if taint.get("effect") in _KEEP_OUT
        }


class Holder(NamedTuple):
    """Who has a GPU."""

    kind: str
    """`run`, `pod` or `claim`."""
    name: str
    namespace: str

    def __str__(self) -> str:
        """Such as `run dev-alice/my-demo`."""
        return f"{self.kind} {self.namespace}/{self.name}"


class Hold(NamedTuple):
    """What a claim holds of a device."""

    key: DeviceKey
    holder: Holder
    claim: str
    """The claim's UID, or its namespace and name."""
    shared: bool
    """Whether it has a share of the device only."""


def offered(slices: Iterable[Object]) -> Iterator[Offered]:
    """The devices of the newest generation of each pool: a driver replaces its slices in turn."""
    specs = [found["spec"] for found in slices]
    newest: dict[tuple[str, str], int] = {}
    for spec in specs:
        pool = _pool(spec)
        newest[pool] = max(newest.get(pool, 0), _generation(spec))
    for spec in specs:
        pool = _pool(spec)
        if _generation(spec) == newest[pool]:
            node = str(spec.get("nodeName") or pool[1])
            for device in spec.get("devices") or []:
                yield Offered(DeviceKey(*pool, str(device["name"])), node, device)


def held(claim: Object, drivers: Collection[str] = (DRIVER,)) -> Iterator[Hold]:
    """The devices of some drivers that a claim holds, and for whom."""
    meta = claim["metadata"]
    identity = str(meta.get("uid") or f"{meta.get('namespace')}/{meta['name']}")
    allocated = ((claim.get("status") or {}).get("allocation") or {}).get("devices") or {}
    for found in allocated.get("results") or []:
        # Others use the device beside an administrator.
        if found.get("driver") in drivers and not found.get("adminAccess"):
            key = DeviceKey(str(found["driver"]), str(found["pool"]), str(found["device"]))
            yield Hold(key, holder_of(claim), identity, bool(found.get("shareID")))


def holder_of(claim: Object) -> Holder:
    """For whom a claim is."""
    meta = claim["metadata"]
    run = (meta.get("labels") or {}).get(LABEL)
    pod = (requesting_pod(claim) or {}).get("name")
    kind, name = ("run", run) if run else ("pod", pod) if pod else ("claim", meta["name"])
    return Holder(kind, str(name), str(meta.get("namespace") or ""))


def requesting_pod(claim: Object) -> Object | None:
    """The reference to the pod for whose requests the scheduler has made a claim."""
    meta = claim["metadata"]
    if (meta.get("annotations") or {}).get(FOR_REQUESTS) != "true":
        return None
    owners = meta.get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("kind") == "Pod"), None)


def _pool(spec: Object) -> tuple[str, str]:
    return str(spec.get("driver") or ""), str(spec["pool"]["name"])


def _generation(spec: Object) -> int:
    return int(spec["pool"].get("generation") or 0)
