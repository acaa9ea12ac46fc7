"""`devctl list` and `devctl status`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli import names as completions
from devctl.cli.formats import TABLES
from devctl.cli.listing import AGE, Listing, all_namespaces, lists, selector, sort_by, watch_option
from devctl.cli.options import connected, unique
from devctl.cli.queueing import say_queues
from devctl.cli.screen import coloured
from devctl.cli.spent import spent_by_server
from devctl.cli.tables import Column
from devctl.cli.times import age, left
from devctl.cli.waiting import state
from devctl.errors import UsageError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.servers import Server

SPENT = Column("SPENT", lambda _server: "", wide=True)
COLUMNS = [
    Column("NAME", lambda server: server.name),
    Column("FLAVOR", lambda server: server.flavor or "(default)", spare=True),
    Column("PHASE", lambda server: server.phase, style=coloured),
    Column("REASON", lambda server: server.reason),
    Column(
        "READY",
        lambda server: f"{server.ready_replicas}/{server.size}",
        key=lambda server: server.ready_replicas,
    ),
    Column("MODE", lambda server: server.mode, wide=True),
    Column("OWNER", lambda server: server.owner, wide=True),
    SPENT,
    Column("IMAGE", lambda server: server.image, wide=True),
    Column(
        "IDLE",
        lambda server: "" if server.stopped else age(server.last_activity_at),
        wide=True,
        key=lambda server: server.last_activity_at and -server.last_activity_at.timestamp(),
    ),
    Column(
        "EXPIRES",
        lambda server: left(server.expires_at),
        spare=True,
        key=lambda server: server.expires_at and server.expires_at.timestamp(),
    ),
    AGE,
]


@click.command("list")
@lists(COLUMNS, "devserver", all_namespaces, selector, sort_by, watch_option)
@connected
def list_(client: Client, listing: Listing, *, watch: bool) -> None:
    """List servers.

    With --watch, a terminal shows the list as it changes; elsewhere, and with -o json, yaml, name
    or jsonpath, each change is printed.

    \b
    Examples:
      devctl list -A -o wide
      devctl list -l team=vision -o name
      devctl list --sort-by expires --watch
    """
    if listing.output == "wide":
        place = listing.columns.index(SPENT)
        listing.columns[place] = SPENT._replace(value=spent_by_server(client, listing.where))
    if watch:
        from devctl.cli.live import follow_table  # noqa: PLC0415 - only this needs it

        follow_table(client.servers.snapshots(listing.where, listing.labels), listing)
    selector = f" with `{listing.selector}`" if listing.selector else ""
    fix = "see all without -l" if selector else "create one with `devctl create NAME`"
    listing.print(
        client.servers.list(listing.where, listing.labels),
        empty=f"no servers{selector}{listing.inside(client)}; {fix}",
    )


_STATES = [
    Column("NAME", lambda server: server.name),
    Column("PHASE", lambda server: server.phase, style=coloured),
    Column("READY", lambda server: f"{server.ready_replicas}/{server.size}", spare=True),
    Column("REASON", lambda server: server.reason),
    Column("MESSAGE", lambda server: server.message),
]


@click.command()
@click.argument(
    "servers", nargs=-1, metavar="[NAME]...", shell_complete=completions.servers, callback=unique
)
@lists(_STATES, "devserver", all_namespaces, selector, watch_option)
@connected
def status(client: Client, servers: Sequence[str], listing: Listing, *, watch: bool) -> None:
    """Show the state of servers and the reason for it: of all, or of those named.

    \b
    Examples:
      devctl status
      devctl status my-dev --watch
    """
    if servers and listing.where:
        raise UsageError("names are of one namespace", "leave out -A, or choose it with -n")
    if servers and listing.labels:
        raise UsageError("servers and labels are both named", "leave out names, or -l")
    if watch:
        from devctl.cli.live import follow_news  # noqa: PLC0415 - only this needs it

        seen = client.servers.snapshots(listing.where, listing.labels, names=servers)
        follow_news(seen, listing, news, empty=["no servers"])
    named = [client.servers.get(name) for name in servers]
    listing.print(
        named or client.servers.list(listing.where, listing.labels),
        empty=f"no servers{listing.inside(client)}",
    )
    if listing.output in TABLES:
        say_queues(client, named)


def news(seen: Sequence[Server], before: Sequence[Server] | None) -> list[str]:
    """A line for each server that has changed."""
    old = {(server.namespace, server.name): one_line(state(server)) for server in before or []}
    new = {(server.namespace, server.name): one_line(state(server)) for server in seen}
    gone = [f"{name}: deleted" for where, name in old if (where, name) not in new]
    return gone + [line for key, line in new.items() if old.get(key) != line]
