"""`devctl jobs cancel`, `devctl jobs retry` and `devctl jobs delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli import names
from devctl.cli.confirm import answers, confirm_names
from devctl.cli.options import command, connected, unique
from devctl.cli.results import Results, changes
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.jobs.job import Job

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
            _say_kept(job, results)


@click.command()
@job_names
@changes("job")
@connected
def retry(client: Client, jobs: Sequence[str], results: Results) -> None:
    """Start GPU workloads again: those that were cancelled, and copies of those that have ended.

    The end of a workload is final: its copy has the same spec and the next free name, such as
    llama-2.

    \b
    Examples:
      devctl jobs retry llama
    """
    from devctl.cli.jobs.either import named, resource  # noqa: PLC0415 - heavy
    from devctl.client.workloads.workload import Workload  # noqa: PLC0415

    found = [named(client, name) for name in jobs]
    for job in found:
        if not isinstance(job, Workload):
            delete, create = (
                command(f"{verb} {job.name}", "egpu") for verb in ("delete", "create")
            )
            raise UsageError(
                f"`{job.name}` is an ephemeral job, which runs once",
                f"{delete} keeps its volume, and {create} with its options runs on that again",
            )
    for job in found:
        started = client.workloads.retry(job.name)
        again = started.name == job.name
        results.add(started, "started again" if again else "created", resource(job))
        if not results.quiet:
            click.echo(f"next: {command(f'jobs logs -f {started.name}')} follows it", err=True)


@click.command()
@job_names
@click.option("--delete-files", is_flag=True, help="And the volumes with what they wrote.")
@answers
@changes("job")
@connected
def delete(
    client: Client,
    jobs: Sequence[str],
    results: Results,
    confirm: Sequence[str],
    *,
    delete_files: bool,
    yes: bool,
) -> None:
    """Delete jobs, whether or not they have ended, with their pods and output.

    Volumes are kept: that of an ephemeral job until it expires.

    \b
    Examples:
      devctl jobs delete llama
      devctl jobs delete train-3f2a --delete-files
      devctl jobs delete gpuworkload/llama eaj/my-job
    """
    from devctl.cli.jobs.either import named, resource  # noqa: PLC0415 - heavy
    from devctl.client.workloads.workload import Workload  # noqa: PLC0415

    found = [named(client, name) for name in jobs]
    if delete_files:
        if others := [job.name for job in found if not isinstance(job, Workload)]:
            raise UsageError(
                f"the volume of `{others[0]}` expires by itself",
                f"{command(f'delete {others[0]} --delete-pvc', 'egpu')} removes it now",
            )
        confirm_names(
            [job.name for job in found], confirm, "this deletes the files that they wrote", yes=yes
        )
    for job in found:
        if isinstance(job, Workload):
            results.add(client.workloads.delete(job), "deleted", resource(job))
            if delete_files:
                volume = client.workloads.workspaces.delete(job.name)
                results.add(volume, "deleted", "persistentvolumeclaim")
        else:
            results.add(client.jobs.delete(job), "deleted", resource(job))
            _say_kept(job, results)


def _say_kept(job: Job, results: Results) -> None:
    """Say that the volume of an ephemeral job is kept."""
    if results.quiet:
        return
    fetch = command(f"artifacts {job.name} --to results", "egpu")
    remove = command(f"delete {job.name} --delete-pvc", "egpu")
    click.echo(
        f"its volume {job.claim} is kept: {fetch} downloads its files, {remove} removes it",
        err=True,
    )
