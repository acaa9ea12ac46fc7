"""What a run costs, in whole micro-units.

Each charge is rounded once, halves up, so that a bill is the sum of its lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

HOUR = 3600
"""Seconds in the hour that a price is for."""
GIGABYTE = 1024
"""Megabytes."""
KINDS = ("gpu", "core", "gigabyte")
"""What is charged, as the ledger calls it."""


class Price(NamedTuple):
    """What a node's hour costs, in micro-units."""

    gpu_hour: int = 0
    core_hour: int = 0
    gigabyte_hour: int = 0


@dataclass(frozen=True)
class Held:
    """What a job holds of a node while it runs."""

    gpus: int
    cores: int
    megabytes: int

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> Held:
        """What a GPUWorkerJob's spec asks for."""
        return cls(int(spec["gpus"]), int(spec["cpuCores"]), int(spec["memoryMegabytes"]))


class Charge(NamedTuple):
    """A line of a bill."""

    kind: str
    quantity: int
    """What was held, in seconds: of GPUs, of cores, or of megabytes."""
    price: int
    """Of an hour of a GPU, a core or a gigabyte, in micro-units."""
    amount: int
    """In micro-units, 0 or more."""


def charges(seconds: int, held: Held, price: Price) -> Iterator[Charge]:
    """The lines of a run.

    >>> [each.amount for each in charges(1800, Held(2, 4, 1024), Price(1_000_000, 30_000, 4_000))]
    [1000000, 60000, 2000]

    Args:
        seconds: How long it ran; less than 0 counts as 0.
        held: What it held.
        price: The price that was valid when it began.
    """
    amounts = (held.gpus, held.cores, held.megabytes)
    for kind, amount, of, unit in zip(KINDS, amounts, price, (1, 1, GIGABYTE), strict=True):
        quantity = max(0, seconds) * amount
        yield Charge(kind, quantity, of, _rounded(quantity * of, HOUR * unit))


def _rounded(amount: int, unit: int) -> int:
    """A quotient, halves rounded up."""
    return (2 * amount + unit) // (2 * unit)
