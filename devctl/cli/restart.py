"""`devctl restart`."""

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
from devctl.cli.waiting import live_line, see_started, state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.servers import Server


@click.command()
@server_names
@yes_option
@waits
@patience
@result_output
@connected
def restart(
    client: Client,
    servers: Sequence[str],
    timeout: int | str,
    output: str | None,
    *,
    yes: bool,
    wait: bool | None,
) -> None:
    """Stop servers and start them again, with what has changed in their specs.

    Sessions and processes end, and files outside the home are lost. On a terminal it asks first
    if there are sessions or runs. --no-wait leaves once the server starts again.

    \b
    Examples:
      devctl restart my-dev
      devctl update my-dev --image torch:2.9 && devctl restart my-dev --yes
    """
    results = Results(output)
    found = [client.servers.get(name) for name in unique(servers)]
    confirm_ending(client, found, yes=yes)
    for server in found:
        results.add(_restarted(client, server, seconds(timeout)), "restarted")
    see_started(client, found, results, seconds(timeout), "status", wait=wait)
    results.print()


def _restarted(client: Client, server: Server, timeout: float) -> Server:
    name = server.name
    left = f"`{name}` stops and stays stopped: {command(f'start {name}')} starts it"
    with live_line(name, "asked to stop", left) as line:
        return client.servers.restart(name, timeout, progress=lambda seen: line.show(state(seen)))
