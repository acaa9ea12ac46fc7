"""`devctl workers nodes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.formats import FORMATS
from devctl.cli.options import output
from devctl.cli.results import print_document, print_items
from devctl.cli.screen import painted
from devctl.cli.tables import Column
from devctl.cli.times import age
from devctl.cli.usage import size
from devctl.cli.workers.options import needs, served
from devctl.errors import NotFoundError

if TYPE_CHECKING:
    from devctl.client.workers.generated.models import AvailableNodes
    from devctl.client.workers.workers import Workers

_COLOURS = {"active": "green", "error": "red", "inactive": "yellow", "maintenance": "yellow"}
_PRICES = [
    Column("GPU HOUR", lambda node: node.price_per_gpu_hour, spare=True),
    Column("CORE HOUR", lambda node: node.price_per_cpu_hour, wide=True),
    Column("GB HOUR", lambda node: node.price_per_memory_gb_hour, wide=True),
]


def memory(megabytes: int) -> str:
    """An amount of memory, as options take it."""
    return size(megabytes << 20)


NODES = [
    Column("ID", lambda node: node.id),
    Column("NODE", lambda node: node.node_name),
    Column("STATE", lambda node: node.state, style=lambda text: painted(text, _COLOURS.get(text))),
    Column("GPUS", lambda node: node.gpu_count),
    Column("TYPE", lambda node: node.gpu_type, spare=True),
    Column("GPU MEMORY", lambda node: memory(node.gpu_memory_total), spare=True),
    Column("CORES", lambda node: node.cpu_cores, wide=True),
    Column("MEMORY", lambda node: memory(node.memory_total), wide=True),
    Column("JOBS", lambda node: node.max_concurrent_jobs, wide=True),
    *_PRICES,
    Column("SEEN", lambda node: age(node.last_heartbeat), spare=True),
]
AVAILABLE = [
    Column("ID", lambda node: node.id),
    Column("NODE", lambda node: node.node_name),
    Column("FREE GPUS", lambda node: node.free.gpus),
    Column("TYPE", lambda node: node.gpu_type, spare=True),
    Column("GPU MEMORY", lambda node: memory(node.gpu_memory_total), spare=True),
    Column("FREE CORES", lambda node: node.free.cpu_cores, spare=True),
    Column("FREE MEMORY", lambda node: memory(node.free.memory), spare=True),
    Column("FREE JOBS", lambda node: node.free.job_slots, wide=True),
    *_PRICES,
]


@click.command()
@needs
@output(*FORMATS)
@served
def nodes(
    workers: Workers,
    gpus: int | None,
    gpu_memory: int | None,
    cpu: int | None,
    memory: int | None,
    strategy: str | None,
    output: str,
) -> None:
    """List nodes; with what a job needs, those on which it would start now, the best one first.

    If it would start on none, the exit code is 3, and an error says what binds.

    \b
    Examples:
      devctl workers nodes
      devctl workers nodes --gpu-memory 16Gi --cpu 4 --strategy costOptimized
    """
    if (gpus, gpu_memory, cpu, memory, strategy) == (None,) * 5:
        print_items(workers.nodes.list(), output, NODES, "node", empty="no node has registered")
        return
    found = workers.nodes.available(
        gpus=gpus,
        gpu_memory=gpu_memory or 0,
        cores=cpu or 0,
        memory=memory or 0,
        strategy=strategy,
    )
    _print(found, output)


def _print(found: AvailableNodes, output: str) -> None:
    if output not in {"table", "wide", "name"}:
        print_document(found.raw, output)
    elif found.items:
        print_items(found.items, output, AVAILABLE, "node", empty="")
    if not found.items:
        raise NotFoundError(
            f"it fits nowhere now: {found.reason}", "ask for less, or submit it: it waits"
        )
