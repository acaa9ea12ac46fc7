"""Which nodes a job costs least on, as terms that kube-scheduler weighs.

The scheduler scales the weights of the nodes that have room, so that the highest is 200 points.
Of two neighbours in the order, the cheaper one has 160 points more, whichever others are full.
Being emptier is worth 150 at most, and having the image another 100.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from devctl.api.gpu_worker_node import PRICES, Prices

Term = dict[str, Any]
LEVELS, RATIO = 5, 5
"""The cheapest costs that are told apart from each other and from all others, and how many times
the weight of the next one each has."""
_MOST = 100
"""The weight of a term; several of one node add up."""


def by_cost(spec: Mapping[str, Any], workers: Iterable[Mapping[str, Any]]) -> list[Term]:
    """The preferences of a job; none if it costs the same everywhere.

    Args:
        spec: Of the GPUWorkerJob.
        workers: All GPUWorkerNodes.
    """
    held = (spec["gpus"], spec["cpuCores"], spec["memoryMegabytes"])
    costs: dict[int, set[str]] = {}
    for worker in workers:
        if _could_take(spec, worker["spec"]):
            prices = Prices.of(worker["spec"])
            costs.setdefault(prices.hourly(*held), set()).add(prices.label)
    ranked = [sorted(costs[cost]) for cost in sorted(costs)]
    # The dearest needs no weight.
    levels = ranked[:-1][:LEVELS]
    return [
        _term(weight, labels)
        for level, labels in enumerate(levels, 1)
        for weight in _parts(RATIO ** (LEVELS - level))
    ]


def _could_take(spec: Mapping[str, Any], worker: Mapping[str, Any]) -> bool:
    """Whether a job fits on a node's GPUs, as far as the node was registered with them."""
    enough = worker["gpuMemoryMegabytes"] >= spec["gpuMemoryMegabytes"]
    return bool(enough and worker["gpuCount"] >= spec["gpus"])


def _parts(weight: int) -> Iterator[int]:
    """A weight as weights that a term may have."""
    whole, rest = divmod(weight, _MOST)
    yield from [_MOST] * whole
    if rest:
        yield rest


def _term(weight: int, labels: list[str]) -> Term:
    chosen = {"key": PRICES, "operator": "In", "values": labels}
    return {"weight": weight, "preference": {"matchExpressions": [chosen]}}
