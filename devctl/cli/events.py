"""`devctl events`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli import names
from devctl.cli.list import NAMESPACE
from devctl.cli.options import all_namespaces, connected, output
from devctl.cli.tables import FORMATS, Column, age, print_items

if TYPE_CHECKING:
    from devctl.client.client import Client

COLUMNS = [
    Column("AGE", lambda event: age(event.at)),
    Column("TYPE", lambda event: event.type, spare=True),
    Column("REASON", lambda event: event.reason),
    Column("ABOUT", lambda event: event.about),
    Column("COUNT", lambda event: event.count, wide=True),
    Column("MESSAGE", lambda event: event.message),
]


@click.command()
@click.argument("name", required=False, metavar="[NAME]", shell_complete=names.servers)
@all_namespaces
@output(*FORMATS)
@connected
def events(client: Client, name: str | None, output: str, *, all_namespaces: bool) -> None:
    """Show what has happened to servers, their pods and volumes; the newest come last.

    \b
    Examples:
      devctl events
      devctl events my-dev
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
    print_items(
        client.events.list(server=name, namespace=EVERYWHERE if all_namespaces else None),
        output,
        [NAMESPACE, *COLUMNS] if all_namespaces else COLUMNS,
        "event",
        empty="nothing has happened lately; the cluster forgets events after an hour",
    )
