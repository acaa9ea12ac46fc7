"""The strategies that choose a node: pure functions of the suitable nodes and of the workload.

Another installed package can add one as an entry point of the group `devctl.scheduling_strategies`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from devctl.api.gpu_workload import CHEAP

_CHEAPER, _PRICED, _CACHED = 1_000_000_000, 1_000, 1_000
"""So that a cheap node wins over any price, and a price or the image over any number of GPUs."""


@dataclass(frozen=True)
class Candidate:
    """A node that the workload fits on."""

    name: str
    free: int
    """GPUs that no pod requests, and that are not promised to another workload."""
    total: int
    """GPUs that pods can request."""
    labels: Mapping[str, str]
    price: float | None = None
    """Price of a GPU per hour; None if unknown."""
    cached: frozenset[str] = frozenset()
    """Images that it has, as far as it lists them (most nodes list the 50 largest), or as its cache
    agent reports them."""


@dataclass(frozen=True)
class Demand:
    """What is to be placed."""

    gpus: int
    model: str
    seed: str
    """The same for the same attempt, so that a repeated choice is the same."""
    image: str = ""
    """The whole name of its image, as in Candidate.cached."""


class Scored(NamedTuple):
    """A node's score, the highest of which wins, and what it is made of."""

    node: str
    score: int
    reason: str


Strategy = Callable[[Sequence[Candidate], Demand], Sequence[Scored]]


def least_loaded(nodes: Sequence[Candidate], _: Demand) -> list[Scored]:
    """The node with the most free GPUs.

    >>> least_loaded([Candidate("a", 2, 8, {})], Demand(1, "m", ""))
    [Scored(node='a', score=2, reason='2 of 8 GPUs are free')]
    """
    return [Scored(node.name, node.free, _free(node)) for node in nodes]


def packed(nodes: Sequence[Candidate], _: Demand) -> list[Scored]:
    """The node with the fewest free GPUs, so that whole ones stay free for larger workloads.

    >>> [scored.score for scored in packed([Candidate("a", 2, 8, {})], Demand(1, "m", ""))]
    [-2]
    """
    return [Scored(node.name, -node.free, _free(node)) for node in nodes]


def random(nodes: Sequence[Candidate], demand: Demand) -> list[Scored]:
    """Any node: by a hash of attempt and node, so that a restart does not choose again."""
    return [
        Scored(node.name, _hashed(f"{demand.seed}\n{node.name}"), "drawn by lot") for node in nodes
    ]


def cost_optimized(nodes: Sequence[Candidate], _: Demand) -> list[Scored]:
    """Nodes labelled as cheap, then those of the lowest price, then the most free GPUs."""
    prices = sorted({node.price for node in nodes if node.price is not None}, reverse=True)
    ranks = {price: rank for rank, price in enumerate(prices, 1)}
    return [
        Scored(
            node.name,
            _CHEAPER * _is_cheap(node)
            + (_PRICED * ranks[node.price] if node.price is not None else 0)
            + node.free,
            ", ".join([*_costs(node), _free(node)]),
        )
        for node in nodes
    ]


def cache_aware(nodes: Sequence[Candidate], demand: Demand) -> list[Scored]:
    """Nodes that have the image already, then the most free GPUs.

    >>> [scored.reason for scored in cache_aware([Candidate("a", 2, 8, {})], Demand(1, "m", ""))]
    ['its image is not listed, 2 of 8 GPUs are free']
    """
    return [
        Scored(
            node.name,
            _CACHED * _is_cached(node, demand) + node.free,
            f"its image is {'there' if _is_cached(node, demand) else 'not listed'}, {_free(node)}",
        )
        for node in nodes
    ]


BUILT_IN: Mapping[str, Strategy] = {
    "leastLoaded": least_loaded,
    "random": random,
    "costOptimized": cost_optimized,
    "packed": packed,
    "cacheAware": cache_aware,
}
"""The strategies that devctl has, by the name in spec.schedulingStrategy."""


def _free(node: Candidate) -> str:
    return f"{node.free} of {node.total} GPUs are free"


def _is_cheap(node: Candidate) -> bool:
    return node.labels.get(CHEAP) == "true"


def _is_cached(node: Candidate, demand: Demand) -> bool:
    return demand.image in node.cached


def _costs(node: Candidate) -> list[str]:
    cheap = ["labelled as cheap"] if _is_cheap(node) else []
    return [*cheap, *([f"{node.price:g} per GPU and hour"] if node.price is not None else [])]


def _hashed(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big")
