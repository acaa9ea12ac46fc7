"""`egpu artifacts`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from devctl.cli.cp import tell_of_git, tell_of_trouble
from devctl.cli.egpu.options import command, job_name, loader_image
from devctl.cli.egpu.screen import moving, shown
from devctl.cli.options import connected, output
from devctl.cli.tables import FORMATS, Column, age, print_items
from devctl.errors import UsageError

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.jobs.download import StoredFile

COLUMNS = [
    Column("NAME", lambda file: _readable(file)),  # noqa: PLW0108 - it stands below
    Column("SIZE", lambda file: _amount(file)),  # noqa: PLW0108
    Column("AGE", lambda file: age(file.changed_at)),
]


@click.command()
@job_name
@click.option("--to", "target", type=click.Path(), metavar="DIR", help="Fetch them into DIR.")
@output(*(name for name in FORMATS if name not in {"wide", "name"}))
@loader_image
@connected
def artifacts(
    client: Client, name: str, target: str | None, output: str, loader_image: str
) -> None:
    """List the files on a job's volume, or fetch them.

    The job may run, have ended or be gone, as long as its volume is there. A file in DIR that
    differs is not replaced.

    \b
    Examples:
      egpu artifacts my-job
      egpu artifacts my-job --to results
    """
    if target is None:
        with shown(name, loader_image) as pod:
            found = client.jobs.files.list(name, **pod)
        print_items(
            found,
            output,
            COLUMNS,
            "file",
            raw=_raw,
            empty=f"there are no files on the volume of `{name}`",
        )
        if found and output == "table":
            fetch = command(f"artifacts {name} --to results")
            click.echo(f"{fetch} fetches them", err=True)
        return
    if output != "table":
        raise UsageError("-o does not go with --to", "leave out the one or the other")
    with moving(name, loader_image) as (pod, moved):
        done = client.jobs.files.download(name, Path(target), moved, **pod)
    click.echo(done.summary())
    tell_of_git(done.git)
    tell_of_trouble(done.left_out, done.changed)


def _raw(file: StoredFile) -> dict[str, object]:
    when = file.changed_at.isoformat()
    # What is no text cannot be JSON; what is escaped here is escaped in the table.
    return {"name": _readable(file), "size": file.size, "changedAt": when, "link": file.link}


def _readable(file: StoredFile) -> str:
    from devctl.text import readable  # noqa: PLC0415 - heavy

    return readable(file.name)


def _amount(file: StoredFile) -> str:
    from devctl.client.files.transfer import amount  # noqa: PLC0415 - heavy

    return "(link)" if file.link else amount(file.size)
