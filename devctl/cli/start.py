"""`devctl start`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

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
from devctl.cli.waiting import see_ready, wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client


@click.command()
@server_names
@waits
@patience
@result_output
@connected
def start(
    client: Client,
    servers: Sequence[str],
    timeout: int | str,
    output: str | None,
    *,
    wait: bool | None,
) -> None:
    """Start stopped servers, with their files as they were left.

    \b
    Examples:
      devctl start my-dev
      devctl start my-dev --wait --timeout 5m
    """
    results = Results(output)
    found = [client.servers.get(name) for name in unique(servers)]
    for server in found:
        results.add(client.servers.start(server), "started")
    for server in found:
        if wanted(wait=wait):
            ready = see_ready(client, server.name, seconds(timeout), "asked to start")
            results.add(ready, "ready")
        elif not results.quiet:
            click.echo(f"see what it does with {command(f'describe {server.name}')}", err=True)
    results.print()
