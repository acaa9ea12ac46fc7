"""`devctl extend`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.api.durations import parse_duration
from devctl.cli.options import connected, duration, result_output, server_names, unique
from devctl.cli.results import Results
from devctl.cli.tables import until
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from devctl.client.client import Client
    from devctl.client.servers import Server


@click.command()
@server_names
@click.option("--ttl", type=duration, metavar="D", help="Keep it for so long from now, e.g. 3d.")
@click.option("--idle", type=duration, metavar="D", help="Idle limit; recorded, not enforced yet.")
@result_output
@connected
def extend(
    client: Client,
    servers: Sequence[str],
    ttl: int | str | None,
    idle: int | str | None,
    output: str | None,
) -> None:
    """Give servers more time before they are deleted.

    \b
    Examples:
      devctl extend my-dev --ttl 3d
      devctl extend my-dev --idle 8h
    """
    if ttl is None and idle is None:
        raise UsageError("nothing to extend", "specify --ttl or --idle")
    results = Results(output)
    found = [client.servers.get(name) for name in unique(servers)]
    for server in found:
        changed = client.servers.extend(server, ttl=ttl, idle=idle)
        results.add(changed, "extended")
        if ttl is not None and not results.quiet:
            click.echo(f"it goes {until(_goes(changed))}; its files stay", err=True)
    results.print()


def _goes(server: Server) -> datetime:
    """When a server goes by its spec: its status says so a moment later only."""
    return server.created_at + parse_duration(server.lifecycle["timeToLive"])
