"""What is wrong with how GPUs are offered, held and counted, and what is done about it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from devctl.api.messages import listed
from devctl.client.gpu_ledger.devices import NVIDIA
from devctl.client.gpu_ledger.entries import Problem, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from devctl.client.gpu_ledger.devices import DeviceKey, Hold, Offered
    from devctl.client.gpu_ledger.entries import Gpu, NodeLedger
    from devctl.client.gpu_ledger.requests import Request

_END_ONE = "end one of them, and see the log of the driver on that node"


def problems(
    nodes: Sequence[NodeLedger],
    devices: Sequence[Offered],
    holds: Sequence[Hold],
    requests: Sequence[Request],
) -> Sequence[Problem]:
    """All of them, by node; those by which a GPU is given away twice come first."""
    places = {device.key: device.node for device in devices}
    found = [
        *(problem for node in nodes for problem in _offered_twice(node, places)),
        *_held_twice(nodes, places, holds),
        *_reserved_too(nodes),
        *(problem for node in nodes for problem in _requests(node, requests)),
        *_not_offered(places, holds),
    ]
    order = list(Trouble)
    return sorted(found, key=lambda each: (order.index(each.trouble), each.node, each.found))


def _offered_twice(node: NodeLedger, places: dict[DeviceKey, str]) -> Iterator[Problem]:
    if node.real and node.listed:
        names = listed([f"`{each.name}`" for each in node.resources if each.capacity])
        drivers = sorted({key.driver for gpu in node.real for key in gpu.offers})
        yield Problem(
            Trouble.OFFERED_TWICE,
            node.name,
            f"node `{node.name}` offers GPUs both as {names} and through {listed(drivers)}",
            "keep the device plugin off nodes with a DRA driver, or the driver off the others: "
            "neither knows what the other one has given away",
        )
    for gpu in node.gpus:
        if len({(key.driver, places[key]) for key in gpu.offers}) > 1:
            by = listed([f"{key.driver} on `{places[key]}`" for key in gpu.offers])
            yield Problem(
                *(Trouble.OFFERED_TWICE, node.name, f"GPU {gpu.uuid} is offered by {by}"),
                f"keep one of the drivers off that node, such as {NVIDIA}; two nodes on the same "
                "machine must not see the same GPU",
            )


def _held_twice(
    nodes: Sequence[NodeLedger], places: dict[DeviceKey, str], holds: Iterable[Hold]
) -> Iterator[Problem]:
    of: dict[DeviceKey, dict[str, Hold]] = defaultdict(dict)
    for hold in holds:
        of[hold.key][hold.claim] = hold
    twice = set()
    for key, claims in of.items():
        # Claims that have a share each are meant to be several.
        if len(claims) > 1 and not all(hold.shared for hold in claims.values()):
            twice.add(key)
            who = listed([str(claims[claim].holder) for claim in sorted(claims)])
            where = places.get(key, key.pool)
            found = f"`{key.name}` of node `{where}` is held by {who} at once"
            yield Problem(Trouble.HELD_TWICE, where, found, _END_ONE)
    for node in nodes:
        for gpu in node.gpus:
            ways = {(key.driver, places[key]) for key in gpu.offers if of.get(key)}
            if len(ways) > 1 and not twice & set(gpu.offers):
                who = listed(list(map(str, gpu.holders)))
                found = f"GPU {gpu.uuid} of node `{node.name}` is held by {who} at once"
                yield Problem(Trouble.HELD_TWICE, node.name, found, _END_ONE)


def _reserved_too(nodes: Iterable[NodeLedger]) -> Iterator[Problem]:
    for node in nodes:
        for gpu in node.gpus:
            if gpu.holders and gpu.reserved_for:
                who = listed(list(map(str, gpu.holders)))
                yield Problem(
                    Trouble.RESERVED_TOO,
                    node.name,
                    f"{name_of(gpu)} of node `{node.name}` is held by {who}, and reserved on the "
                    f"host by {gpu.reserved_for}: both may use it",
                    "have one of them end; `canhazgpu release` on the host ends a reservation",
                )


def _requests(node: NodeLedger, requests: Iterable[Request]) -> Iterator[Problem]:
    here = [request for request in requests if request.node == node.name]
    offers = {each.name for each in node.resources if each.capacity}
    for request in here:
        if request.by_claim and request.resource in offers:
            yield Problem(
                Trouble.COUNTED_TWICE,
                node.name,
                f"pod {request.pod} has a claim for its `{request.resource}`, which its node "
                f"`{node.name}` lists as well: the kubelet counts it a second time",
                "keep the device plugin off that node, or give the DeviceClass another "
                "extendedResourceName; then start the pod again",
            )
    for each in node.resources:
        if each.requested > each.capacity:
            yield Problem(
                Trouble.OVERBOOKED,
                node.name,
                f"pods on node `{node.name}` have {each.requested} `{each.name}`, and it lists "
                f"{each.capacity}",
                "see whether its device plugin runs, and whether it has lost a GPU",
            )


def _not_offered(places: dict[DeviceKey, str], holds: Iterable[Hold]) -> Iterator[Problem]:
    for hold in holds:
        if hold.key not in places:
            yield Problem(
                Trouble.NOT_OFFERED,
                hold.key.pool,
                f"{hold.holder} holds `{hold.key.name}` of node `{hold.key.pool}`, which "
                f"{hold.key.driver} does not offer now",
                "see whether the driver's pod on that node is ready; a GPU that is gone for good "
                "is free again once its pod has ended",
            )


def name_of(gpu: Gpu) -> str:
    """What a GPU is called: by its number if it has one."""
    return f"GPU {gpu.index}" if gpu.index is not None else f"`{gpu.offers[0].name}`"
