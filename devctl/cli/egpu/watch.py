"""`egpu watch` and `egpu logs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.egpu.options import job_name, patience
from devctl.cli.egpu.screen import see_it_end
from devctl.cli.options import connected
from devctl.cli.replica_output import ReplicaOutput

if TYPE_CHECKING:
    from devctl.client.client import Client


@click.command()
@job_name
@patience
@connected
def watch(client: Client, name: str, timeout: float | None) -> None:
    """Show the state of a job and the reason until it ends.

    The exit code is 0 if it succeeded, 1 if it failed, and 4 after --timeout.

    \b
    Examples:
      egpu watch my-job
      egpu watch my-job --timeout 10m && egpu artifacts my-job --to results
    """
    see_it_end(client, name, timeout, "no news yet")


@click.command()
@job_name
@click.option("-f", "--follow", is_flag=True, help="Wait for the start, and follow until the end.")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@connected
def logs(client: Client, name: str, tail: int | None, *, follow: bool) -> None:
    """Print the output of a job, for as long as its pod exists.

    \b
    Examples:
      egpu logs my-job
      egpu logs my-job -f
    """
    output = ReplicaOutput([0])
    for piece in client.jobs.logs(name, follow=follow, tail=tail):
        output.add(0, piece)
    output.end(0)
