"""`devctl events`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli import names
from devctl.cli.list import NAMESPACE
from devctl.cli.options import all_namespaces, connected, output, watch_option
from devctl.cli.tables import FORMATS, Column, age, print_item, print_items, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
"""Rows before a new one that it is aligned with."""


@click.command()
@click.argument("name", required=False, metavar="[NAME]", shell_complete=names.servers)
@all_namespaces
@watch_option
@output(*FORMATS)
@connected
def events(
    client: Client, name: str | None, output: str, *, all_namespaces: bool, watch: bool
) -> None:
    """Show what has happened to servers, their pods and volumes; the newest come last.

    The cluster forgets events after about an hour.

    \b
    Examples:
      devctl events
      devctl events my-dev --watch
    """
    from devctl.errors import UsageError  # noqa: PLC0415
    from devctl.kube.cluster import EVERYWHERE  # noqa: PLC0415 - heavy

    if name and all_namespaces:
        raise UsageError(
            f"`{name}` is a server of one namespace", "leave out -A, or name the namespace with -n"
        )
    if name:
        # A name that nobody has is told apart from one to which nothing has happened.
        client.servers.get(name)
    columns = [NAMESPACE, *COLUMNS] if all_namespaces else COLUMNS
    where = EVERYWHERE if all_namespaces else None
    if watch:
        _follow(client.events.watch(name, where), output, columns)
    print_items(
        client.events.list(name, where),
        output,
        columns,
        "event",
        empty="no recent events; the cluster forgets them after about an hour",
    )


def _follow(seen: Iterator[Event], output: str, columns: Sequence[Column]) -> None:
    """Print events as they come; a table's rows are aligned with those before."""
    shown = [column for column in columns if output == "wide" or not column.wide]
    recent: list[Event] = []
    for event in seen:
        if output not in {"table", "wide"}:
            print_item(event, output, "event")
        else:
            first, recent = not recent, [*recent[-_ALIGNED:], event]
            title, *_, row = table_of(recent, shown)
            click.echo(f"{title}\n{row}" if first else row)
        sys.stdout.flush()
