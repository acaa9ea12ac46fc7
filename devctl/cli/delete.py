"""`devctl delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.confirm import answers, confirm_names
from devctl.cli.options import command, connected, server_names
from devctl.cli.results import Results, changes
from devctl.cli.waiting import live_line, patience, waits
from devctl.errors import DeniedError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.homes import Home
    from devctl.client.servers import Server


@click.command()
@server_names
@click.option("--delete-home", is_flag=True, help="Delete their homes too, with all files.")
@answers
@waits
@patience
@changes()
@connected
def delete(
    client: Client,
    servers: Sequence[str],
    confirm: Sequence[str],
    timeout: float,
    results: Results,
    *,
    yes: bool,
    wait: bool,
    delete_home: bool,
) -> None:
    """Delete servers; their files are kept for the next server of the same name.

    --delete-home also deletes the files, once nothing uses them, and asks for the name first. It
    also accepts the name of a server that is already gone.

    \b
    Examples:
      devctl delete my-dev
      devctl delete my-dev --delete-home
    """
    found = {name: _server(client, name, delete_home=delete_home) for name in servers}
    homes = {name: _homes(client, name, needed=delete_home) for name in servers}
    if delete_home:
        files = volumes([home for each in homes.values() for home in each])
        what = f"this deletes {', '.join(homes)} and all files in {files}"
        confirm_names(servers, confirm, what, yes=yes)
    for there in filter(None, found.values()):
        results.add(client.servers.delete(there), "deleted")
    for name, server in found.items():
        if server and (wait or delete_home):
            _see_gone(client, server, timeout)
        if delete_home:
            for home in homes[name]:
                results.add(client.homes.delete(home), "deleted", "persistentvolumeclaim")
        elif homes[name] and not results.quiet:
            click.echo(
                f"its files are kept in {volumes(homes[name])}:\n"
                f"  {command(f'create {name}')} creates a server with them\n"
                f"  {command(f'homes delete --server {name}')} deletes them",
                err=True,
            )


def _server(client: Client, name: str, *, delete_home: bool) -> Server | None:
    """The server; None if only its homes are left, and they are to be deleted."""
    try:
        return client.servers.get(name)
    except NotFoundError:
        if not delete_home or not _homes(client, name, needed=True):
            raise
        return None


def _homes(client: Client, name: str, *, needed: bool) -> list[Home]:
    try:
        return list(client.homes.list(server=name))
    except DeniedError:
        if needed:
            raise
        return []


def _see_gone(client: Client, server: Server, timeout: float) -> None:
    name = server.name
    left = f"`{name}` keeps shutting down; its files are kept: see {command('homes list')}"
    with live_line(name, "asked to end", left) as line:
        client.servers.wait_gone(
            name, server.uid, timeout, progress=lambda text: line.show(f"{name}: {text}")
        )


def volumes(homes: Sequence[Home]) -> str:
    """A short description of any number of homes.

    >>> volumes([])
    'no home'
    """
    if not homes:
        return "no home"
    first, last = homes[0], homes[-1]
    if first is last:
        return f"{first.name} ({first.size})"
    between = ", " if homes[1] is last else " … "
    return f"{first.name}{between}{last.name} ({len(homes)} of {first.size})"
