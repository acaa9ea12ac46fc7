"""In which order nodes suit a job, by the strategy's name as GPUWorkloads have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256

from devctl_gateway.scheduling.fit import Offer

Key = Callable[[Offer, str], tuple[int, ...]]
"""What offers are sorted by, the lowest first: of an offer, and of a seed for lots."""

STRATEGIES: Mapping[str, Key] = {
    "leastLoaded": lambda offer, _: (-offer.gpus, -offer.cores),
    "packed": lambda offer, _: (offer.gpus, offer.cores),
    "costOptimized": lambda offer, _: (offer.gpu_hour, -offer.gpus),
    "random": lambda offer, seed: (_drawn(f"{seed}\n{offer.node_id}"),),
}
"""The strategies of the gateway. The observer's of the same names prefer the same nodes."""


def ordered(offers: Sequence[Offer], strategy: str, seed: str = "") -> list[Offer]:
    """Offers, the one that suits best first; equal ones by their names."""
    key = STRATEGIES[strategy]
    return sorted(offers, key=lambda offer: (*key(offer, seed), offer.node_name))


def _drawn(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big")
