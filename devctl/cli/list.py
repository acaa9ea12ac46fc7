"""`devctl list`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import all_namespaces, connected, labels, output, selector
from devctl.cli.screen import coloured
from devctl.cli.tables import FORMATS, Column, age, left, print_items

if TYPE_CHECKING:
    from devctl.client.client import Client

COLUMNS = [
    Column("NAME", lambda server: server.name),
    Column("FLAVOR", lambda server: server.flavor or "(default)", spare=True),
    Column("PHASE", lambda server: server.phase, style=coloured),
    Column("REASON", lambda server: server.reason),
    Column("READY", lambda server: f"{server.ready_replicas}/{server.size}"),
    Column("MODE", lambda server: server.mode, wide=True),
    Column("OWNER", lambda server: server.owner, wide=True),
    Column("IMAGE", lambda server: server.image, wide=True),
    Column("EXPIRES", lambda server: left(server.expires_at), spare=True),
    Column("AGE", lambda server: age(server.created_at), spare=True),
]
NAMESPACE = Column("NAMESPACE", lambda item: item.namespace)


@click.command("list")
@all_namespaces
@selector
@output(*FORMATS)
@connected
def list_(client: Client, output: str, selector: str, *, all_namespaces: bool) -> None:
    """List servers.

    \b
    Examples:
      devctl list
      devctl list -A -o wide
      devctl list -l team=vision -o name
    """
    from devctl.kube.cluster import EVERYWHERE  # noqa: PLC0415 - heavy

    where = "" if all_namespaces else f" in namespace `{client.namespace}`"
    fix = "see them all without -l" if selector else "make one with `devctl create NAME`"
    print_items(
        client.servers.list(EVERYWHERE if all_namespaces else None, labels(selector)),
        output,
        [NAMESPACE, *COLUMNS] if all_namespaces else COLUMNS,
        "devserver",
        empty=f"no servers{f' with `{selector}`' if selector else ''}{where}; {fix}",
    )
