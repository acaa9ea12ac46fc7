"""`egpu watch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.egpu.options import job_name, patience, seconds
from devctl.cli.egpu.screen import see_it_end
from devctl.cli.options import connected

if TYPE_CHECKING:
    from devctl.client.client import Client


@click.command()
@job_name
@patience
@connected
def watch(client: Client, name: str, timeout: int | str | None) -> None:
    """Show what a job does and why until it has ended.

    The exit code is 0 where it has succeeded, 1 where it has failed, 4 where --timeout is over.

    \b
    Examples:
      egpu watch my-job
      egpu watch my-job --timeout 10m && egpu artifacts my-job --to results
    """
    see_it_end(client, name, seconds(timeout), "no news yet")
