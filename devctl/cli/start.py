"""`devctl start`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import command, connected, patience, seconds, server_names, unique
from devctl.cli.waiting import see_ready, wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client


@click.command()
@server_names
@click.option("--wait/--no-wait", default=None, help="Until they are ready; so on a terminal.")
@patience
@connected
def start(client: Client, servers: Sequence[str], timeout: int | str, *, wait: bool | None) -> None:
    """Start servers that are stopped, with their files as they were left.

    \b
    Examples:
      devctl start my-dev
      devctl start my-dev --wait --timeout 5m
    """
    found = [client.servers.get(name) for name in unique(servers)]
    for server in found:
        client.servers.start(server)
        click.echo(f"devserver/{server.name} started")
    for server in found:
        if wanted(wait=wait):
            see_ready(client, server.name, seconds(timeout), "asked to start")
        else:
            click.echo(f"see what it does with {command(f'describe {server.name}')}", err=True)
