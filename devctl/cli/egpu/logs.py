"""`egpu logs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.egpu.options import job_name
from devctl.cli.options import connected
from devctl.cli.replica_output import ReplicaOutput as RankOutput

if TYPE_CHECKING:
    from devctl.client.client import Client


@click.command()
@job_name
@click.option("-f", "--follow", is_flag=True, help="Wait for it, and go on until it ends.")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@connected
def logs(client: Client, name: str, tail: int | None, *, follow: bool) -> None:
    """Print what a job has printed, for as long as its pod is there.

    \b
    Examples:
      egpu logs my-job
      egpu logs my-job -f
    """
    output = RankOutput([0])
    for piece in client.jobs.logs(name, follow=follow, tail=tail):
        output.add(0, piece)
    output.end(0)
