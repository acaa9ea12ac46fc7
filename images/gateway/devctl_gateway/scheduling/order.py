"""In which order nodes suit a job, by the strategy's name as GPUWorkloads have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256

from devctl_gateway.scheduling.fit import Offer, Wanted

Key = Callable[[Offer, Wanted, str], tuple[int, ...]]
"""What offers are sorted by, the lowest first: of an offer, a job, and a seed for lots."""

STRATEGIES: Mapping[str, Key] = {
    "leastLoaded": lambda offer, *_: (offer.jobs, -offer.gpus, -offer.cores),
    "packed": lambda offer, *_: (-offer.jobs, offer.gpus, offer.cores),
    "costOptimized": lambda offer, wanted, _: (
        offer.prices.hourly(wanted.gpus, wanted.cores, wanted.memory),
        *offer.prices,
        -offer.gpus,
    ),
    "random": lambda offer, _, seed: (_drawn(f"{seed}\n{offer.node_id}"),),
}
"""By strategy. What a job's pod prefers is in the role's `affinity`: the same cost, and jobs."""


def ordered(offers: Sequence[Offer], strategy: str, wanted: Wanted, seed: str = "") -> list[Offer]:
    """Offers, the one that suits a job best first; equal ones by their names."""
    key = STRATEGIES[strategy]
    return sorted(offers, key=lambda offer: (*key(offer, wanted, seed), offer.node_name))


def _drawn(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big")
