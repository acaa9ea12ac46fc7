"""`devctl create`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from devctl.cli.options import (
    command,
    connected,
    dry_run_option,
    patience,
    result_output,
    seconds,
    waits,
)
from devctl.cli.results import Results
from devctl.cli.server_options import chosen, server_options
from devctl.cli.waiting import see_ready, wanted

if TYPE_CHECKING:
    from devctl.client.client import Client


@click.command()
@click.argument("name", metavar="NAME")
@server_options(new=True)
@waits
@patience
@dry_run_option
@result_output
@connected
def create(
    client: Client,
    name: str,
    dry_run: str,
    output: str | None,
    timeout: int | str,
    *,
    wait: bool | None,
    **asked: Any,
) -> None:
    """Create a server. Its files outlive it.

    \b
    Examples:
      devctl create my-dev --flavor gpu-large
      devctl create training-job --flavor gpu-large --distributed --replicas 4
      devctl create my-dev --ttl 3d --idle-timeout 2h --wait
    """
    options, results = chosen(**asked), Results(output)
    if dry_run == "client":
        from devctl.client.servers import Server  # noqa: PLC0415 - heavy

        manifest = Server(client.servers.manifest(name, **options))
        results.add(manifest, "created (dry run)")
    elif dry_run == "server":
        made = client.servers.create(name, dry_run=True, **options)
        results.add(made, "created (server dry run)")
    else:
        results.add(client.servers.create(name, **options), "created")
        if wanted(wait=wait):
            results.add(see_ready(client, name, seconds(timeout), "asked for"), "ready")
        elif not results.quiet:
            click.echo(f"see what it does with {command(f'describe {name}')}", err=True)
    results.print()
