"""Nodes as answers."""

from __future__ import annotations

from typing import Any

from devctl.api.prices import write_amount
from devctl_gateway.cluster.node_facts import is_ready
from devctl_gateway.context import Context
from devctl_gateway.scheduling.fit import Offer
from devctl_gateway.scheduling.offers import offers
from devctl_gateway.scheduling.state import state_of
from devctl_gateway.schemas.nodes import Free, Node
from devctl_gateway.store.rows import Row

_FACTS = (
    *("id", "node_name", "hostname", "gpu_count", "gpu_type", "gpu_memory_total", "cpu_cores"),
    *("memory_total", "max_concurrent_jobs", "registered_at"),
)


def prices_of(row: Row) -> dict[str, str]:
    """A node's prices as the API names them."""
    names = {
        "price_per_gpu_hour": "gpu_hour",
        "price_per_cpu_hour": "core_hour",
        "price_per_memory_gb_hour": "gigabyte_hour",
    }
    return {name: write_amount(row[column] or 0) for name, column in names.items()}


def node_fields(context: Context, row: Row) -> dict[str, Any]:
    """The fields of a node."""
    state = state_of(
        row,
        now=context.clock(),
        every=context.settings.heartbeat_seconds,
        there=is_ready(context.cluster.nodes.get(row["node_name"])),
    )
    facts = {name: row[name] for name in _FACTS}
    return {**facts, **prices_of(row), "state": state, "last_heartbeat": row["heartbeat_at"]}


def node_answer(context: Context, row: Row) -> Node:
    """A node."""
    return Node(**node_fields(context, row))


def offer_of(context: Context, row: Row) -> Offer:
    """What a node offers now."""
    (found,) = offers(
        [row],
        context.cluster.nodes,
        context.cluster.requested,
        now=context.clock(),
        every=context.settings.heartbeat_seconds,
    )
    return found


def free_answer(offer: Offer) -> Free:
    """What no pod holds of a node."""
    return Free(gpus=offer.gpus, cpu_cores=offer.cores, memory=offer.memory, job_slots=offer.slots)
