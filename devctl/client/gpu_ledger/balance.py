"""One account of all GPUs, and what is counted, offered or held twice."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.quantities import parse_quantity
from devctl.api.vllm_run import RESERVED
from devctl.client.gpu_ledger.devices import DRIVERS, Hold, held, offered
from devctl.client.gpu_ledger.entries import Gpu, Ledger, NodeLedger, Resource
from devctl.client.gpu_ledger.problems import problems
from devctl.client.gpu_ledger.requests import Request, is_gpu, requested

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from devctl.client.gpu_ledger.devices import DeviceKey, Offered
    from devctl.kube.cluster import Object


class Seen(NamedTuple):
    """What the account is made of, as the API server has it."""

    nodes: Sequence[Object]
    pods: Sequence[Object] = ()
    slices: Sequence[Object] = ()
    claims: Sequence[Object] = ()
    classes: Sequence[Object] = ()


def balance(seen: Seen) -> Ledger:
    """The account of a cluster."""
    devices = [each for each in offered(seen.slices) if each.key.driver in DRIVERS]
    holds = [hold for claim in seen.claims for hold in held(claim, DRIVERS)]
    requests = list(requested(seen.pods, seen.claims, seen.classes))
    gpus = _gpus(devices, holds)
    listed = {str(node["metadata"]["name"]): _resources(node, requests) for node in seen.nodes}
    ledgers = [
        NodeLedger(name, listed.get(name, []), gpus.get(name, []))
        for name in sorted(listed.keys() | gpus.keys())
    ]
    nodes = [ledger for ledger in ledgers if ledger.resources or ledger.gpus]
    return Ledger(nodes, problems(nodes, devices, holds, requests))


def _resources(node: Object, requests: Iterable[Request]) -> Sequence[Resource]:
    """What a node lists, and what pods on it request although it does not."""
    name, status = node["metadata"]["name"], node.get("status") or {}
    capacity, allocatable = (_whole(status.get(part)) for part in ("capacity", "allocatable"))
    taken: dict[str, int] = defaultdict(int)
    for request in requests:
        if request.node == name and not request.by_claim:
            taken[request.resource] += request.amount
    names = sorted({key for key, amount in capacity.items() if amount} | taken.keys())
    return [Resource(n, capacity.get(n, 0), allocatable.get(n, 0), taken.get(n, 0)) for n in names]


def _whole(amounts: Mapping[str, str] | None) -> dict[str, int]:
    """The resources that count GPUs."""
    return {name: int(parse_quantity(n)) for name, n in (amounts or {}).items() if is_gpu(name)}


def _gpus(devices: Iterable[Offered], holds: Iterable[Hold]) -> Mapping[str, Sequence[Gpu]]:
    """The GPUs that are offered by claim, by the node that counts them.

    One that several drivers, or nodes, offer is one, and so are the parts of one.
    """
    of: dict[DeviceKey, list[Hold]] = defaultdict(list)
    for hold in holds:
        of[hold.key].append(hold)
    same: dict[Hashable, list[Offered]] = defaultdict(list)
    for device in devices:
        same[identity(device)].append(device)
    found: dict[str, list[Gpu]] = defaultdict(list)
    for group in same.values():
        group.sort(key=lambda each: (each.node, each.key))
        found[group[0].node].append(_gpu(group, of))
    for gpus in found.values():
        gpus.sort(key=lambda gpu: (-1 if gpu.index is None else gpu.index, gpu.offers))
    return found


def identity(device: Offered) -> Hashable:
    """What tells a GPU from others, whoever offers it.

    A made-up one, and one without a UUID, is what its driver calls it.
    """
    uuid = device.value("parentUUID", "string") or device.value("uuid", "string")
    if not uuid or device.value("madeUp", "bool"):
        return device.key
    return str(uuid)


def _gpu(group: Sequence[Offered], of: Mapping[DeviceKey, Sequence[Hold]]) -> Gpu:
    first = group[0]
    holders = {hold.claim: hold.holder for each in group for hold in of.get(each.key, ())}
    taints = {key: value for each in group for key, value in each.taints.items()}
    return Gpu(
        offers=tuple(each.key for each in group),
        uuid=first.value("uuid", "string") or "",
        index=next((n for each in group if (n := each.value("index", "int")) is not None), None),
        made_up=bool(first.value("madeUp", "bool")),
        holders=tuple(holders[claim] for claim in sorted(holders)),
        reserved_for=taints.get(RESERVED, ""),
        withdrawn=bool(taints),
    )
