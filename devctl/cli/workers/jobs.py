"""`devctl workers jobs`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import click

from devctl.cli.formats import FORMATS
from devctl.cli.options import output
from devctl.cli.results import print_items
from devctl.cli.screen import painted
from devctl.cli.tables import Column
from devctl.cli.times import age
from devctl.cli.workers.nodes import memory
from devctl.cli.workers.options import STATES, served

if TYPE_CHECKING:
    from devctl.client.workers.workers import Workers

COLOURS = {"running": "green", "completed": "green", "failed": "red", "pending": "yellow"}
COLUMNS = [
    Column("ID", lambda job: job.job_id),
    Column("NAME", lambda job: job.job_name),
    Column("STATE", lambda job: job.state, style=lambda text: painted(text, COLOURS.get(text))),
    Column("REASON", lambda job: job.reason, spare=True),
    Column("PLACE", lambda job: job.queue_position, spare=True),
    Column("GPUS", lambda job: job.gpu_count, spare=True),
    Column("NODE", lambda job: job.node_name, spare=True),
    Column("NODE ID", lambda job: job.node_id, wide=True),
    Column("IMAGE", lambda job: job.image, wide=True),
    Column("GPU MEMORY", lambda job: memory(job.gpu_memory_required), wide=True),
    Column("CORES", lambda job: job.cpu_cores_required, wide=True),
    Column("MEMORY", lambda job: memory(job.memory_required), wide=True),
    Column("AGE", lambda job: age(job.created_at), spare=True),
]


@click.command()
@click.option("--state", type=click.Choice(STATES), help="Only those in this state.")
@click.option("--name", metavar="NAME", help="Only those of this name.")
@click.option("--node", metavar="ID", help="Only those that are or were on this node.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="The newest ones only; else all."
)
@output(*FORMATS)
@served
def jobs(
    workers: Workers,
    state: str | None,
    name: str | None,
    node: str | None,
    limit: int | None,
    output: str,
) -> None:
    """List your jobs, the newest first. PLACE is that of a job that waits: 1 is next.

    \b
    Examples:
      devctl workers jobs
      devctl workers jobs --state running -o wide
    """
    found = islice(workers.jobs.list(state=state, name=name, node=node), limit)
    print_items(found, output, COLUMNS, "workerjob", empty="no jobs")
