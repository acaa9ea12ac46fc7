"""`devctl list` and `devctl status`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli import names as completions
from devctl.cli.formats import FORMATS, TABLES, chosen_format
from devctl.cli.listing import AGE, labels, ordered, scope, selector, sort_by
from devctl.cli.options import all_namespaces, connected, output, unique, watch_option
from devctl.cli.queueing import say_queues
from devctl.cli.results import print_items
from devctl.cli.screen import coloured
from devctl.cli.tables import Column, lines_of_items
from devctl.cli.times import left
from devctl.cli.waiting import state
from devctl.errors import UsageError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.servers import Server

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
    Column("IMAGE", lambda server: server.image, wide=True),
    Column(
        "EXPIRES",
        lambda server: left(server.expires_at),
        spare=True,
        key=lambda server: server.expires_at and server.expires_at.timestamp(),
    ),
    AGE,
]


@click.command("list")
@all_namespaces
@selector
@sort_by
@watch_option
@output(*FORMATS)
@connected
def list_(
    client: Client,
    output: str,
    selector: str,
    sort_by: str,
    *,
    all_namespaces: bool,
    watch: bool,
) -> None:
    """List servers.

    With --watch, a terminal shows the list as it changes; elsewhere, and with -o json, yaml, name
    or jsonpath, each change is printed.

    \b
    Examples:
      devctl list -A -o wide
      devctl list -l team=vision -o name
      devctl list --sort-by expires --watch
    """
    where, columns = scope(COLUMNS, all_namespaces=all_namespaces)
    if watch:
        from devctl.cli.live import follow_table  # noqa: PLC0415 - only this needs it

        found = client.servers.snapshots(where, labels(selector))
        follow_table(found, output, columns, "devserver", sort_by)
    inside = "" if all_namespaces else f" in namespace `{client.namespace}`"
    fix = "see all without -l" if selector else "create one with `devctl create NAME`"
    print_items(
        ordered(client.servers.list(where, labels(selector)), sort_by, columns),
        output,
        columns,
        "devserver",
        empty=f"no servers{f' with `{selector}`' if selector else ''}{inside}; {fix}",
    )


_STATES = [
    Column("NAME", lambda server: server.name),
    Column("PHASE", lambda server: server.phase, style=coloured),
    Column("READY", lambda server: f"{server.ready_replicas}/{server.size}", spare=True),
    Column("REASON", lambda server: server.reason),
    Column("MESSAGE", lambda server: server.message),
]


@click.command()
@click.argument("servers", nargs=-1, metavar="[NAME]...", shell_complete=completions.servers)
@all_namespaces
@selector
@watch_option
@output(*FORMATS)
@connected
def status(
    client: Client,
    servers: Sequence[str],
    output: str,
    selector: str,
    *,
    all_namespaces: bool,
    watch: bool,
) -> None:
    """Show the state of servers and the reason for it: of all, or of those named.

    \b
    Examples:
      devctl status
      devctl status my-dev --watch
    """
    if servers and all_namespaces:
        raise UsageError("names are of one namespace", "leave out -A, or choose it with -n")
    if servers and selector:
        raise UsageError("servers and labels are both named", "leave out names, or -l")
    if watch and chosen_format(output) not in TABLES:
        raise UsageError("--watch shows a table", "leave out -o, or --watch")
    where, columns = scope(_STATES, all_namespaces=all_namespaces)
    if not watch:
        found = [client.servers.get(name) for name in unique(servers)]
        print_items(
            found if servers else client.servers.list(where, labels(selector)),
            output,
            columns,
            "devserver",
            empty="no servers" + ("" if all_namespaces else f" in namespace `{client.namespace}`"),
        )
        if chosen_format(output) in TABLES:
            say_queues(client, found)
        return
    from devctl.cli.live import follow  # noqa: PLC0415 - only this needs it

    follow(
        client.servers.snapshots(where, labels(selector), names=unique(servers)),
        lambda seen, width: list(lines_of_items(seen, columns, width)) if seen else ["no servers"],
        news,
    )


def news(seen: Sequence[Server], before: Sequence[Server] | None) -> list[str]:
    """A line for each server that has changed."""
    old = {(server.namespace, server.name): one_line(state(server)) for server in before or []}
    new = {(server.namespace, server.name): one_line(state(server)) for server in seen}
    gone = [f"{name}: deleted" for where, name in old if (where, name) not in new]
    return gone + [line for key, line in new.items() if old.get(key) != line]
