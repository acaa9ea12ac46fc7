"""`devctl jobs pull`, and the fetching of what a submitted job wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from devctl.cli.egpu.options import loader_image
from devctl.cli.egpu.screen import moving
from devctl.cli.jobs.show import job_name
from devctl.cli.options import connected
from devctl.cli.progress import tell_of_trouble, tell_of_withheld

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.files.copy import Copied


@click.command()
@job_name
@click.argument("into", metavar="DIR", type=click.Path())
@loader_image
@connected
def pull(client: Client, name: str, into: str, loader_image: str) -> None:
    """Fetch the files that a job wrote to its volume.

    Those that were submitted with it, and that it left unchanged, are not fetched. The job may be
    running, have ended or be deleted, as long as its volume exists. Existing files in DIR that
    differ are not replaced.

    \b
    Examples:
      devctl jobs pull train-3f2a results
    """
    done = fetch(client, name.rpartition("/")[2], into, loader_image)
    tell_of_trouble(done.left_out, done.changed)


def fetch(client: Client, name: str, into: str, image: str = "") -> Copied:
    """Fetch what a GPU workload wrote, and say what was fetched."""
    workload = client.workloads.find(name)
    with moving(name, image) as (pod, moved):
        done = client.workloads.workspaces.download(name, Path(into), moved, workload, **pod)
    click.echo(done.summary(), err=True)
    tell_of_withheld(done)
    return done
