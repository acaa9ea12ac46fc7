"""`devctl workers logs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.replica_output import ReplicaOutput
from devctl.cli.workers.options import job_id, served

if TYPE_CHECKING:
    from devctl.client.workers.workers import Workers


@click.command()
@job_id
@click.option("-f", "--follow", is_flag=True, help="Until the job ends.")
@click.option("--tail", type=click.IntRange(0, 100_000), metavar="N", help="Only the last N lines.")
@served
def logs(workers: Workers, job_id: str, tail: int | None, *, follow: bool) -> None:
    """Print what a job has written, for as long as its pod is there.

    With -f, Ctrl-C only stops following.

    \b
    Examples:
      devctl workers logs JOB
      devctl workers logs -f --tail 100 JOB
    """
    shown = ReplicaOutput([0])
    for piece in workers.jobs.logs(job_id, follow=follow, tail=tail):
        shown.add(0, piece)
    shown.end(0)
