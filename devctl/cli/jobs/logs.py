"""`devctl jobs logs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.jobs.attempt_output import AttemptOutput
from devctl.cli.jobs.show import job_name
from devctl.cli.options import connected
from devctl.cli.replica_output import ReplicaOutput
from devctl.errors import UsageError

if TYPE_CHECKING:
    from devctl.client.client import Client


@click.command()
@job_name
@click.option("-f", "--follow", is_flag=True, help="Wait for the start, and follow until the end.")
@click.option(
    "--attempt", type=click.IntRange(min=1), metavar="K", help="That one; default: the last."
)
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@connected
def logs(client: Client, name: str, attempt: int | None, tail: int | None, *, follow: bool) -> None:
    """Print the output of a job, for as long as its pod exists.

    Of a GPU workload with several pods, each line begins with the rank: one pod after another, or
    with -f as it arrives. With -f, the output of retries follows too. Ctrl-C only stops following.

    \b
    Examples:
      devctl jobs logs llama
      devctl jobs logs -f llama
      devctl jobs logs llama --attempt 1
    """
    from devctl.cli.jobs.either import named  # noqa: PLC0415 - heavy
    from devctl.client.workloads.workload import Workload  # noqa: PLC0415

    job = named(client, name)
    if isinstance(job, Workload):
        shown = AttemptOutput(job.nodes)
        for part in client.workloads.logs(job.name, follow=follow, attempt=attempt, tail=tail):
            shown.add(part)
        shown.end()
        return
    if attempt is not None:
        raise UsageError(
            f"`{job.name}` is an ephemeral job, which has one attempt", "leave out --attempt"
        )
    output = ReplicaOutput([0])
    for piece in client.jobs.logs(job.name, follow=follow, tail=tail):
        output.add(0, piece)
    output.end(0)
