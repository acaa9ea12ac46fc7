"""`devctl events`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli import names
from devctl.cli.formats import TABLES
from devctl.cli.listing import Listing, all_namespaces, lists, watch_option
from devctl.cli.options import connected
from devctl.cli.results import print_item
from devctl.cli.tables import Column, lines_of
from devctl.cli.times import age
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.client.client import Client
    from devctl.client.events import Event

COLUMNS = [
    Column("AGE", lambda event: age(event.at)),
    Column("TYPE", lambda event: event.type, spare=True),
    Column("REASON", lambda event: event.reason),
    Column("ABOUT", lambda event: event.about),
    Column("COUNT", lambda event: event.count, wide=True),
    Column("MESSAGE", lambda event: event.message),
]
_ALIGNED = 50
"""The rows before a new one that it is aligned with."""


@click.command()
@click.argument("name", required=False, metavar="[NAME]", shell_complete=names.servers)
@lists(COLUMNS, "event", all_namespaces, watch_option)
@connected
def events(client: Client, name: str | None, listing: Listing, *, watch: bool) -> None:
    """Show what happened to servers, their pods and volumes; the newest come last.

    The cluster forgets events after about an hour.

    \b
    Examples:
      devctl events
      devctl events my-dev --watch
    """
    if name and listing.where:
        raise UsageError(
            f"`{name}` is a server of one namespace", "leave out -A, or choose it with -n"
        )
    if name:
        # Tells a server without events from one that does not exist.
        client.servers.get(name)
    if watch:
        _follow(client.events.watch(name, listing.where), listing)
    listing.print(
        client.events.list(name, listing.where),
        empty="no recent events; the cluster forgets them after about an hour",
    )


def _follow(seen: Iterator[Event], listing: Listing) -> None:
    """Print events as they arrive; a table's rows are aligned with those before."""
    recent: list[Event] = []
    for event in seen:
        if listing.output not in TABLES:
            print_item(event, listing.output, listing.resource)
        else:
            first, recent = not recent, [*recent[-_ALIGNED:], event]
            title, *_, row = lines_of(recent, listing.columns, wide=listing.output == "wide")
            click.echo(f"{title}\n{row}" if first else row)
        sys.stdout.flush()
