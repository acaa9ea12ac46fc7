"""`devctl start`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import (
    connected,
    patience,
    result_output,
    seconds,
    server_names,
    unique,
    waits,
)
from devctl.cli.results import Results
from devctl.cli.waiting import see_started

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
    see_started(client, found, results, seconds(timeout), "describe", wait=wait)
    results.print()
