"""`devctl stop`, `devctl start` and `devctl restart`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click

from devctl.cli.confirm import confirm_ending, yes_option
from devctl.cli.options import command, connected, server_names
from devctl.cli.results import Results, changes
from devctl.cli.waiting import live_line, patience, see_started, showing, waits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from devctl.client.client import Client
    from devctl.client.servers import Server


def _on_servers(act: Callable[..., None]) -> Callable[..., Any]:
    """Give a command the servers that its arguments name, and the options of all commands here."""

    @server_names
    @waits
    @patience
    @changes()
    @connected
    @functools.wraps(act)
    def command(client: Client, servers: Sequence[str], **options: Any) -> None:
        act(client, [client.servers.get(name) for name in servers], **options)

    return command


@click.command()
@yes_option
@_on_servers
def stop(
    client: Client,
    servers: list[Server],
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
    confirm_ending(client, servers, yes=yes)
    for server in servers:
        results.add(client.servers.stop(server), "stopped")
    for name in [server.name for server in servers] if wait else []:
        left = f"`{name}` keeps stopping: see {command(f'status {name} --watch')}"
        with live_line(name, "asked to stop", left) as line:
            stopped = client.servers.wait_stopped(name, timeout, progress=showing(line))
        results.add(stopped, "stopped")
    if not results.quiet:
        names = " ".join(server.name for server in servers)
        click.echo(f"next: {command(f'start {names}')}", err=True)


@click.command()
@_on_servers
def start(
    client: Client, servers: list[Server], timeout: float, results: Results, *, wait: bool
) -> None:
    """Start stopped servers, with their files as they were.

    \b
    Examples:
      devctl start my-dev
      devctl start my-dev --wait --timeout 5m
    """
    for server in servers:
        results.add(client.servers.start(server), "started")
    for server in servers:
        see_started(client, server, results, timeout, wait=wait)


@click.command()
@yes_option
@_on_servers
def restart(
    client: Client,
    servers: list[Server],
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
    confirm_ending(client, servers, yes=yes)
    for server in servers:
        name = server.name
        left = f"`{name}` stops and stays stopped: {command(f'start {name}')} starts it"
        with live_line(name, "asked to stop", left) as line:
            restarted = client.servers.restart(name, timeout, progress=showing(line))
        results.add(restarted, "restarted")
    for server in servers:
        see_started(client, server, results, timeout, wait=wait, look="status")
