"""`devctl jobs cancel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli import names
from devctl.cli.options import command, connected, unique
from devctl.cli.results import Results, changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client

job_names = click.argument(
    "jobs",
    nargs=-1,
    required=True,
    metavar="JOB...",
    shell_complete=names.every_job,
    callback=unique,
)


@click.command()
@job_names
@changes("job")
@connected
def cancel(client: Client, jobs: Sequence[str], results: Results) -> None:
    """Stop jobs: their programs end, and their pods are removed with their output.

    A GPU workload stays, and can start again. An ephemeral job is deleted, and its volume kept
    until it expires. A job that has ended is left alone.

    \b
    Examples:
      devctl jobs cancel llama
      devctl jobs cancel gpuworkload/llama eaj/my-job
    """
    from devctl.cli.jobs.either import named, resource  # noqa: PLC0415 - heavy
    from devctl.client.workloads.workload import Workload  # noqa: PLC0415

    for job in [named(client, name) for name in jobs]:
        if job.finished:
            click.echo(f"`{job.name}` has ended already ({job.phase})", err=True)
        elif isinstance(job, Workload):
            results.add(client.workloads.cancel(job), "cancelled", resource(job))
        else:
            results.add(client.jobs.delete(job), "cancelled and deleted", resource(job))
            if not results.quiet:
                look = command(f"artifacts {job.name} --to results", "egpu")
                click.echo(f"its volume {job.claim} is kept: {look} downloads its files", err=True)
