"""What runs of GPU worker jobs cost, computed from what the cluster says and from prices alone."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import Any

PRICES = {
    "price_per_gpu_hour": "1.234567",
    "price_per_cpu_hour": "0.031",
    "price_per_memory_gb_hour": "0.0041",
}
MEMORY = 64
"""Megabytes."""
SMALL = {"cpu_cores_required": 1, "memory_required": MEMORY}
"""What a job asks for: one core, the least that there is."""


def micro(amount: str) -> int:
    """An amount in micro-units."""
    return int(Fraction(amount) * 10**6)


def price_of(run: dict[str, Any], gpus: int = 0) -> int:
    """What a run of SMALL costs in micro-units, each part rounded once, halves up."""
    times = [datetime.fromisoformat(run[name]) for name in ("startedAt", "finishedAt")]
    seconds = int((times[1] - times[0]).total_seconds())
    held = (Fraction(gpus), Fraction(1), Fraction(MEMORY, 1024))
    return sum(
        int(Fraction(price) * 10**6 * seconds * each / 3600 + Fraction(1, 2))
        for price, each in zip(PRICES.values(), held, strict=True)
    )
