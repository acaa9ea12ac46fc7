"""GPUs that pods request as resources of their nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.api import pod_requests
from devctl.client.gpu_ledger.devices import requesting_pod

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from devctl.kube.cluster import Object

IMPLICIT = "deviceclass.resource.kubernetes.io/"
"""What a DeviceClass's name follows in the resource by which pods can always request it."""
_ENDS = {"Succeeded", "Failed"}


class Request(NamedTuple):
    """What a pod on a node requests of a resource."""

    node: str
    resource: str
    amount: int
    pod: str
    """Its namespace and name."""
    by_claim: bool
    """Whether the scheduler has made a claim for it, so that it takes none of the node's."""


def is_gpu(resource: str) -> bool:
    """Whether a resource counts whole GPUs, whoever makes them.

    >>> is_gpu("nvidia.com/gpu"), is_gpu("amd.com/gpu"), is_gpu("nvidia.com/mig-1g.5gb")
    (True, True, False)
    """
    domain, _, name = resource.partition("/")
    return bool(domain) and name == "gpu"


def requested(
    pods: Iterable[Object], claims: Iterable[Object], classes: Iterable[Object]
) -> Iterator[Request]:
    """What pods that occupy a node request there of each resource that counts GPUs."""
    covered = _covered(claims, _names(classes))
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if not node or (pod.get("status") or {}).get("phase") in _ENDS:
            continue
        meta = pod["metadata"]
        claimed = covered.get(str(meta.get("uid")), frozenset()) | _mapped(pod)
        for resource, amount in sorted(amounts(pod["spec"]).items()):
            if is_gpu(resource) and amount:
                name = f"{meta.get('namespace')}/{meta['name']}"
                yield Request(str(node), resource, amount, name, resource in claimed)


def amounts(spec: Mapping[str, Any]) -> dict[str, int]:
    """What the scheduler counts for a pod, of resources that count GPUs."""
    found = pod_requests.requested(spec)
    return {name: int(amount) for name, amount in found.items() if is_gpu(name)}


def _names(classes: Iterable[Object]) -> dict[str, str]:
    """The resource of each DeviceClass that has one of its own choice."""
    found = {each["metadata"]["name"]: each.get("spec") or {} for each in classes}
    return {
        name: str(spec["extendedResourceName"])
        for name, spec in found.items()
        if spec.get("extendedResourceName")
    }


def _covered(claims: Iterable[Object], names: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """The resources that claims of the scheduler's stand for, by the UID of the pod."""
    found: dict[str, frozenset[str]] = {}
    for claim in claims:
        if pod := requesting_pod(claim):
            devices = (claim.get("spec") or {}).get("devices") or {}
            classes = [
                str((request.get("exactly") or {}).get("deviceClassName") or "")
                for request in devices.get("requests") or []
            ]
            resources = {names.get(each, "") for each in classes} | {
                f"{IMPLICIT}{each}" for each in classes
            }
            uid = str(pod.get("uid"))
            found[uid] = found.get(uid, frozenset()) | resources
    return found


def _mapped(pod: Object) -> frozenset[str]:
    """The same, as the scheduler writes it into the pod's status."""
    status = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
    mappings = status.get("requestMappings") or []
    return frozenset(str(each.get("resourceName")) for each in mappings)
