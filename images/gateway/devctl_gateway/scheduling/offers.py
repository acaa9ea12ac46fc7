"""What registered nodes offer now: registrations, and what the cluster says of their Nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal

from devctl.api.gpu_worker_job import SLOTS
from devctl.api.gpu_worker_node import Prices
from devctl.api.gpu_workload import TOLERATIONS
from devctl.api.placing import closed
from devctl.api.quantities import GPU, parse_quantity
from devctl_gateway.cluster.node_facts import facts, is_ready
from devctl_gateway.cluster.objects import Thing
from devctl_gateway.scheduling.fit import Offer, free
from devctl_gateway.scheduling.state import state_of
from devctl_gateway.store.rows import Row

_MEGABYTE = 1 << 20
_CPU, _MEMORY = "cpu", "memory"


def offers(
    rows: Iterable[Row],
    nodes: Mapping[str, Thing],
    requested: Mapping[str, Mapping[str, int]],
    *,
    now: datetime,
    every: int,
) -> list[Offer]:
    """What registered nodes offer now.

    Args:
        rows: Registrations, each with its latest prices.
        nodes: Nodes by name.
        requested: What pods hold of each, by name: cores in thousandths, memory in bytes.
        now: The time.
        every: Seconds between two heartbeats.
    """
    return [
        _offer(row, nodes.get(row["node_name"]), requested.get(row["node_name"], {}), now, every)
        for row in rows
    ]


def amounts(node: Thing | None) -> dict[str, int]:
    """What pods can request of a Node: cores in thousandths, all else in whole units."""
    found = (node or {}).get("status", {}).get("allocatable") or {}
    return {
        name: int(parse_quantity(value) * (1000 if name == _CPU else Decimal(1)))
        for name, value in found.items()
    }


def _offer(
    row: Row,
    node: Thing | None,
    taken: Mapping[str, int],
    now: datetime,
    every: int,
) -> Offer:
    has = amounts(node)
    jobs = taken.get(SLOTS, 0)
    hourly = (row[name] or 0 for name in ("gpu_hour", "core_hour", "gigabyte_hour"))
    return Offer(
        row["id"],
        row["node_name"],
        state_of(row, now=now, every=every, there=is_ready(node)),
        row["gpu_type"],
        gpu_memory=row["gpu_memory_total"],
        gpus=free(has, taken, GPU),
        gpus_total=has.get(GPU, 0),
        cores=free(has, taken, _CPU) // 1000,
        memory=free(has, taken, _MEMORY) // _MEGABYTE,
        slots=max(0, row["max_concurrent_jobs"] - jobs),
        jobs=jobs,
        prices=Prices(*hourly),
        # What a job's pod tolerates of a lost node is only to stay there.
        closed=closed(TOLERATIONS, facts(node)),
    )
