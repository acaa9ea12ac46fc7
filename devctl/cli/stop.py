"""`devctl stop`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import command, connected, patience, seconds, server_names, unique
from devctl.cli.waiting import live_line, state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client


@click.command()
@server_names
@click.option("--wait/--no-wait", default=False, help="Until their pods are gone.")
@patience
@connected
def stop(client: Client, servers: Sequence[str], timeout: int | str, *, wait: bool) -> None:
    """Stop servers: their pods and what runs in them go, all files in their homes stay.

    \b
    Examples:
      devctl stop my-dev
      devctl stop my-dev --wait && devctl start my-dev
    """
    found = [client.servers.get(name) for name in unique(servers)]
    for server in found:
        client.servers.stop(server)
        click.echo(f"devserver/{server.name} stopped")
    for server in found if wait else []:
        name = server.name
        goes_on = f"`{name}` goes on stopping: see {command(f'status {name} --watch')}"
        with live_line(name, "asked to stop", goes_on) as line:
            client.servers.wait_stopped(
                name, seconds(timeout), progress=lambda seen: line.show(state(seen))
            )
    click.echo(f"next: {command('start ' + ' '.join(s.name for s in found))}", err=True)
