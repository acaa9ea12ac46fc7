"""Tells the cluster of registered nodes: a GPUWorkerNode for each. Any replica may, at any time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from devctl.api.gpu_worker_node import API_VERSION, KIND
from devctl.api.prices import write_amount
from devctl_gateway.cluster.node_facts import is_ready
from devctl_gateway.cluster.objects import Thing
from devctl_gateway.context import Context
from devctl_gateway.scheduling.state import state_of
from devctl_gateway.store import nodes
from devctl_gateway.store.engine import connect
from devctl_gateway.store.rows import Row


async def register_all(context: Context, known: dict[str, Thing]) -> None:
    """Apply what is missing or has changed since; nothing while the cluster is out of sight.

    Args:
        context: Of the process.
        known: What this process has applied, by name; it is kept up to date.
    """
    if not context.cluster.synced:
        return
    async with connect(context.engine) as connection:
        rows = await nodes.everything(connection)
    every = context.settings.heartbeat_seconds
    wanted = worker_nodes(rows, context.cluster.nodes, now=context.clock(), every=every)
    for name, manifest in wanted.items():
        if known.get(name) != manifest or name not in context.cluster.workers:
            await context.cluster.apply_node(manifest)
            known[name] = manifest


def worker_nodes(
    rows: Iterable[Row], there: Mapping[str, Thing], *, now: datetime, every: int
) -> dict[str, Thing]:
    """The GPUWorkerNodes of registrations, by name.

    Args:
        rows: Registrations, each with its latest price.
        there: Nodes by name.
        now: The time.
        every: Seconds between two heartbeats.
    """
    return {row["id"]: _worker_node(row, there, now, every) for row in rows}


def _worker_node(row: Row, there: Mapping[str, Thing], now: datetime, every: int) -> Thing:
    state = state_of(row, now=now, every=every, there=is_ready(there.get(row["node_name"])))
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": row["id"]},
        "spec": {
            "nodeName": row["node_name"],
            "gpuCount": row["gpu_count"],
            "gpuType": row["gpu_type"],
            "gpuMemoryMegabytes": row["gpu_memory_total"],
            "maxConcurrentJobs": row["max_concurrent_jobs"],
            "state": str(state),
            "prices": {
                "perGPUHour": write_amount(row["gpu_hour"] or 0),
                "perCoreHour": write_amount(row["core_hour"] or 0),
                "perGigabyteHour": write_amount(row["gigabyte_hour"] or 0),
            },
        },
    }
