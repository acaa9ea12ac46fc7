"""`devctl workers artifacts` and `devctl workers pull`: the files that a job has written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from devctl.cli.formats import FORMATS
from devctl.cli.options import output
from devctl.cli.progress import tell_of_trouble, tell_of_withheld, transferred
from devctl.cli.results import print_items
from devctl.cli.tables import Column
from devctl.cli.times import age
from devctl.cli.workers.options import job_id, served
from devctl.text import readable

if TYPE_CHECKING:
    from devctl.client.workers.workers import Workers


def _amount(size: int) -> str:
    from devctl.client.files.transfer import amount  # noqa: PLC0415 - heavy

    return amount(size)


COLUMNS = [
    Column("NAME", lambda file: readable(file.path)),
    Column("SIZE", lambda file: _amount(file.size)),
    Column("AGE", lambda file: age(file.modified)),
]


@click.command()
@job_id
@output(*(name for name in FORMATS if name not in {"wide", "name"}))
@served
def artifacts(workers: Workers, job_id: str, output: str) -> None:
    """List the files that a job has written to /artifacts, while it runs and for days after.

    \b
    Examples:
      devctl workers artifacts JOB
    """
    found = workers.jobs.artifacts(job_id)
    print_items(found.items, output, COLUMNS, "file", empty="no files")
    if found.truncated:
        click.echo("there are more files than the API lists: they can be had by name", err=True)
    if found.items and output == "table":
        click.echo(f"next: `devctl workers pull {job_id}` fetches them", err=True)


@click.command()
@job_id
@click.option("--to", type=click.Path(), metavar="DIR", help="Default: a folder named JOB.")
@served
def pull(workers: Workers, job_id: str, to: str | None) -> None:
    """Fetch the files that a job has written to /artifacts.

    The job may be running. Existing files in DIR that differ are not replaced.

    \b
    Examples:
      devctl workers pull JOB
      devctl workers pull JOB --to results
    """
    with transferred() as moved:
        done = workers.jobs.pull(job_id, Path(job_id if to is None else to), moved)
    click.echo(done.summary(), err=True)
    tell_of_withheld(done)
    tell_of_trouble(done.left_out, done.changed)
