"""`devctl stop`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.confirm import confirm_ending, yes_option
from devctl.cli.options import (
    command,
    connected,
    patience,
    result_output,
    seconds,
    server_names,
    unique,
    waits,
)
from devctl.cli.results import Results
from devctl.cli.waiting import see_stopped, wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client


@click.command()
@server_names
@yes_option
@waits
@patience
@result_output
@connected
def stop(
    client: Client,
    servers: Sequence[str],
    timeout: int | str,
    output: str | None,
    *,
    yes: bool,
    wait: bool | None,
) -> None:
    """Stop servers: pods and processes end, all files in their homes are kept.

    \b
    Examples:
      devctl stop my-dev
      devctl stop my-dev --wait && devctl start my-dev
    """
    results = Results(output)
    found = [client.servers.get(name) for name in unique(servers)]
    confirm_ending(client, found, yes=yes)
    for server in found:
        results.add(client.servers.stop(server), "stopped")
    for server in found if wanted(wait=wait) else []:
        results.add(see_stopped(client, server.name, seconds(timeout)), "stopped")
    results.print()
    if not results.quiet:
        click.echo(f"next: {command('start ' + ' '.join(s.name for s in found))}", err=True)
