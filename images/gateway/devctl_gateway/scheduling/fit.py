"""Which nodes a job fits on now, and which requirement it fails on elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from devctl.api.gpu_worker_node import NO_PRICES, Prices, State


@dataclass(frozen=True)
class Wanted:
    """What a job needs of a node."""

    gpus: int = 0
    gpu_memory: int = 0
    """Of each GPU, in megabytes."""
    cores: int = 0
    memory: int = 0
    """In megabytes."""


@dataclass(frozen=True)
class Offer:
    """A registered node, and what is free there."""

    node_id: str
    node_name: str
    state: State
    gpu_type: str
    gpu_memory: int
    """Of each GPU, in megabytes."""
    gpus: int
    gpus_total: int
    cores: int
    memory: int
    """In megabytes."""
    slots: int
    """Further jobs that it takes."""
    jobs: int = 0
    """Those that it has."""
    prices: Prices = NO_PRICES
    closed: str = ""
    """Why the scheduler places no job there, however little it needs; empty if it does."""


def obstacle(wanted: Wanted, offer: Offer) -> str:
    """The first requirement that a node does not meet now; empty if it meets all.

    Requirements that never change come first, then those that others may hold for now.
    """
    if offer.state is not State.ACTIVE:
        return f"it is {offer.state}"
    if offer.closed:
        return f"it is closed to new jobs ({offer.closed})"
    for word, needs, has in (
        ("GPU memory (MB)", wanted.gpu_memory, offer.gpu_memory),
        ("GPUs", wanted.gpus, offer.gpus),
        ("cores", wanted.cores, offer.cores),
        ("memory (MB)", wanted.memory, offer.memory),
    ):
        if needs > has:
            return f"{word}: {needs} wanted, {has} free"
    return "" if offer.slots > 0 else "all job slots are taken"


def fitting(wanted: Wanted, offers: Iterable[Offer]) -> list[Offer]:
    """The nodes that meet all requirements now."""
    return [offer for offer in offers if not obstacle(wanted, offer)]


def why_not(wanted: Wanted, offers: Iterable[Offer]) -> str:
    """Why a job fits on no node: how many nodes fail on what, the most frequent one first.

    >>> why_not(Wanted(), [])
    'no node is registered'
    """
    counts = Counter(obstacle(wanted, offer) for offer in offers)
    del counts[""]
    told = [f"{number} of {counts.total()} nodes: {what}" for what, number in counts.most_common()]
    return "; ".join(told) or "no node is registered"


def free(allocatable: Mapping[str, int], requested: Mapping[str, int], resource: str) -> int:
    """What is left of a resource of a node; never less than 0."""
    return max(0, allocatable.get(resource, 0) - requested.get(resource, 0))
