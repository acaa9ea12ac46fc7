"""`devctl status`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli import names as completions
from devctl.cli.formats import chosen_format
from devctl.cli.list import NAMESPACE
from devctl.cli.options import all_namespaces, connected, output, unique, watch_option
from devctl.cli.screen import coloured
from devctl.cli.selectors import labels, selector
from devctl.cli.tables import FORMATS, Column, print_items, table_of
from devctl.cli.waiting import state
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.servers import Server

COLUMNS = [
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
        raise UsageError("names are of one namespace", "leave out -A, or name the namespace: -n")
    if servers and selector:
        raise UsageError("servers and labels are both named", "leave out names, or -l")
    if watch and chosen_format(output) not in {"table", "wide"}:
        raise UsageError("--watch shows a table", "leave out -o, or --watch")
    from devctl.kube.cluster import EVERYWHERE  # noqa: PLC0415 - heavy

    shown = [NAMESPACE, *COLUMNS] if all_namespaces else COLUMNS
    where = EVERYWHERE if all_namespaces else None

    if not watch:
        found = [client.servers.get(name) for name in unique(servers)]
        print_items(
            found if servers else client.servers.list(where, labels(selector)),
            output,
            shown,
            "devserver",
            empty="no servers" + ("" if all_namespaces else f" in namespace `{client.namespace}`"),
        )
        return
    from devctl.cli.live import follow  # noqa: PLC0415 - only this needs it

    follow(
        client.servers.snapshots(where, labels(selector), names=unique(servers)),
        lambda seen, width: table_of(seen, shown, width) if seen else ["no servers"],
        news,
    )


def news(seen: Sequence[Server], before: Sequence[Server] | None) -> list[str]:
    """A line for each server that is not as it was."""
    old = {(server.namespace, server.name): state(server) for server in before or []}
    new = {(server.namespace, server.name): state(server) for server in seen}
    gone = [f"{name}: deleted" for where, name in old if (where, name) not in new]
    return gone + [line for key, line in new.items() if old.get(key) != line]
