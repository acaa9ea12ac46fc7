"""`devctl homes`: the volumes that outlive servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli import names as completions
from devctl.cli.confirm import answers, confirm_names
from devctl.cli.delete import volumes
from devctl.cli.lazy import SectionedGroup
from devctl.cli.listing import AGE, Listing, all_namespaces, lists, sort_by
from devctl.cli.options import connected, unique
from devctl.cli.results import Results, changes
from devctl.cli.tables import Column
from devctl.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client

COLUMNS = [
    Column("NAME", lambda home: home.name),
    Column("SERVER", lambda home: home.server),
    Column("SIZE", lambda home: home.size),
    Column("USED BY", lambda home: ", ".join(home.pods) or "nobody"),
    Column("STATE", lambda home: home.phase, wide=True),
    Column("CLASS", lambda home: home.storage_class, wide=True),
    AGE,
]


@click.group(cls=SectionedGroup)
def homes() -> None:
    """List or delete homes: the files of servers, which are kept when servers are deleted.

    \b
    Examples:
      devctl homes list
      devctl homes delete home-my-dev-0
    """


@homes.command("list", short_help="List homes, and what uses them")
@click.option(
    "--server", metavar="NAME", shell_complete=completions.servers, help="Only those of a server."
)
@lists(COLUMNS, "persistentvolumeclaim", all_namespaces, sort_by)
@connected
def list_(client: Client, server: str | None, listing: Listing) -> None:
    """List homes, and what uses them.

    \b
    Examples:
      devctl homes list
      devctl homes list --server my-dev -o name
    """
    found = client.homes.list(listing.where, server=server)
    listing.print(found, empty=f"no homes{listing.inside(client)}")


@homes.command(short_help="Delete homes with all files in them")
@click.argument(
    "homes", nargs=-1, metavar="[HOME]...", shell_complete=completions.homes, callback=unique
)
@click.option(
    "--server", metavar="NAME", shell_complete=completions.servers, help="All those of a server."
)
@answers
@changes("persistentvolumeclaim")
@connected
def delete(
    client: Client,
    homes: Sequence[str],
    server: str | None,
    confirm: Sequence[str],
    results: Results,
    *,
    yes: bool,
) -> None:
    """Delete homes with all files in them, unless a pod uses them.

    \b
    Examples:
      devctl homes delete home-my-dev-0
      devctl homes delete --server my-dev
    """
    if bool(homes) == bool(server):
        raise UsageError(
            "no home is named" if not homes else "homes and --server are both named",
            "name homes as `devctl homes list` shows them, or all of a server with --server",
        )
    if server:
        found = list(client.homes.list(server=server))
        if not found:
            raise NotFoundError(
                f"there are no homes of a server `{server}` in namespace `{client.namespace}`",
                "list all homes with `devctl homes list`",
            )
    else:
        found = [client.homes.get(name) for name in homes]
    named = [server] if server else [home.name for home in found]
    confirm_names(named, confirm, f"this deletes all files in {volumes(found)}", yes=yes)
    for home in found:
        results.add(client.homes.delete(home), "deleted")
