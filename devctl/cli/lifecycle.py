"""`devctl stop`, `devctl start` and `devctl restart`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.confirm import confirm_ending, yes_option
from devctl.cli.options import command, connected, patience, server_names, waits
from devctl.cli.results import Results, changes
from devctl.cli.waiting import live_line, see_started, showing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client


@click.command()
@server_names
@yes_option
@waits
@patience
@changes()
@connected
def stop(
    client: Client,
    servers: Sequence[str],
    timeout: float,
    results: Results,
    *,
    yes: bool,
    wait: bool,
) -> None:
    """Stop servers: pods and processes end, all files in their homes are kept.

    \b
    Examples:
      devctl stop my-dev
      devctl stop my-dev --wait && devctl start my-dev
    """
    found = [client.servers.get(name) for name in servers]
    confirm_ending(client, found, yes=yes)
    for server in found:
        results.add(client.servers.stop(server), "stopped")
    for name in [server.name for server in found] if wait else []:
        left = f"`{name}` keeps stopping: see {command(f'status {name} --watch')}"
        with live_line(name, "asked to stop", left) as line:
            stopped = client.servers.wait_stopped(name, timeout, progress=showing(line))
        results.add(stopped, "stopped")
    if not results.quiet:
        names = " ".join(server.name for server in found)
        click.echo(f"next: {command(f'start {names}')}", err=True)


@click.command()
@server_names
@waits
@patience
@changes()
@connected
def start(
    client: Client,
    servers: Sequence[str],
    timeout: float,
    results: Results,
    *,
    wait: bool,
) -> None:
    """Start stopped servers, with their files as they were.

    \b
    Examples:
      devctl start my-dev
      devctl start my-dev --wait --timeout 5m
    """
    found = [client.servers.get(name) for name in servers]
    for server in found:
        results.add(client.servers.start(server), "started")
    for server in found:
        see_started(client, server, results, timeout, wait=wait)


@click.command()
@server_names
@yes_option
@waits
@patience
@changes()
@connected
def restart(
    client: Client,
    servers: Sequence[str],
    timeout: float,
    results: Results,
    *,
    yes: bool,
    wait: bool,
) -> None:
    """Stop servers and start them again, which applies changes to their specs.

    Sessions and processes end, and files outside the home are lost. On a terminal it asks first
    if there are sessions or runs. With --no-wait it returns as soon as the server is starting.

    \b
    Examples:
      devctl restart my-dev
      devctl update my-dev --image torch:2.9 && devctl restart my-dev --yes
    """
    found = [client.servers.get(name) for name in servers]
    confirm_ending(client, found, yes=yes)
    for server in found:
        name = server.name
        left = f"`{name}` stops and stays stopped: {command(f'start {name}')} starts it"
        with live_line(name, "asked to stop", left) as line:
            restarted = client.servers.restart(name, timeout, progress=showing(line))
        results.add(restarted, "restarted")
    for server in found:
        see_started(client, server, results, timeout, wait=wait, look="status")
