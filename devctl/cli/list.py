"""`devctl list`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import all_namespaces, connected, output, watch_option
from devctl.cli.screen import coloured
from devctl.cli.selectors import labels, selector
from devctl.cli.sorting import ordered, sort_by
from devctl.cli.tables import FORMATS, Column, age, left, print_items

if TYPE_CHECKING:
    from devctl.client.client import Client

AGE = Column(
    "AGE",
    lambda item: age(item.created_at),
    spare=True,
    key=lambda item: -item.created_at.timestamp(),
)
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
NAMESPACE = Column("NAMESPACE", lambda item: item.namespace)


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
    from devctl.kube.cluster import EVERYWHERE  # noqa: PLC0415 - heavy

    columns = [NAMESPACE, *COLUMNS] if all_namespaces else COLUMNS
    where = EVERYWHERE if all_namespaces else None
    if watch:
        from devctl.cli.live import follow_table  # noqa: PLC0415 - only this needs it

        found = client.servers.snapshots(where, labels(selector))
        follow_table(found, output, columns, "devserver", sort_by)
    inside = "" if all_namespaces else f" in namespace `{client.namespace}`"
    fix = "see them all without -l" if selector else "make one with `devctl create NAME`"
    print_items(
        ordered(client.servers.list(where, labels(selector)), sort_by, columns),
        output,
        columns,
        "devserver",
        empty=f"no servers{f' with `{selector}`' if selector else ''}{inside}; {fix}",
    )
