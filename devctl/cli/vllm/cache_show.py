"""`k8shazgpu cache list` and `k8shazgpu cache status`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from devctl.cli.formats import is_document
from devctl.cli.options import connected, output
from devctl.cli.results import print_items
from devctl.cli.screen import painted
from devctl.cli.tables import Column
from devctl.cli.times import age
from devctl.cli.usage import size
from devctl.cli.vllm.cache_plan import ITEMS
from devctl.cli.vllm.options import command
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from devctl.client.client import Client
    from devctl.client.vllm.cache_plan import CachedItem, NodeCache
    from devctl.client.vllm.items import Item

_NO_AGENT = "no cache agent runs on the nodes: images are pulled when a run needs them"
_COLOURS = {"ready": "green", "failed": "red", "pulling": "yellow"}


class Listed(NamedTuple):
    """An item of the plan, and how many nodes have it."""

    item: Item
    ready: int | None
    """None without any cache agent."""

    @property
    def raw(self) -> Mapping[str, object]:
        """For programs."""
        return {**self.item.raw, **({} if self.ready is None else {"nodesReady": self.ready})}


def _of_item(column: Column) -> Column:
    return column._replace(value=lambda listed: column.value(listed.item))


def _message(item: CachedItem) -> str:
    older = "an older version is there" if item.present and item.state != "ready" else ""
    return "; ".join(filter(None, [item.message, older]))


LISTED = [*map(_of_item, ITEMS), Column("READY ON", lambda listed: _on(listed.ready))]
CACHED = [
    Column("NODE", lambda item: item.node),
    Column("TYPE", lambda item: item.type.lower()),
    Column("NAME", lambda item: item.name),
    Column("STATUS", lambda item: item.state, style=lambda text: painted(text, _COLOURS.get(text))),
    Column("DONE", lambda item: None if item.percent is None else f"{item.percent}%", spare=True),
    Column("SIZE", lambda item: None if item.size is None else size(item.size), spare=True),
    Column("MESSAGE", _message),
]


@click.command("list")
@output("table", "wide", "json", "yaml")
@connected
def list_(client: Client, output: str) -> None:
    """List the items of the CachePlan, and how many nodes have each.

    \b
    Examples:
      k8shazgpu cache list
      k8shazgpu cache list -o json
    """
    nodes = client.cache.nodes()
    found = [Listed(item, _ready(item, nodes)) for item in client.cache.items()]
    empty = f"the CachePlan has no items; an administrator adds them with {command('cache add')}"
    print_items(found, output, LISTED, "cacheplan", empty=empty)
    if found and not nodes:
        click.echo(_NO_AGENT, err=True)


@click.command()
@output("table", "wide", "json", "yaml")
@connected
def status(client: Client, output: str) -> None:
    """Show what each node has of the CachePlan, what it is fetching, and what has failed.

    \b
    Examples:
      k8shazgpu cache status
      k8shazgpu cache status -o json
    """
    nodes = client.cache.nodes()
    if is_document(output):
        print_items(nodes, output, CACHED, "nodecachestatus", empty="")
        return
    if not nodes:
        click.echo(_NO_AGENT, err=True)
        return
    items = [item for node in nodes for item in node.items]
    print_items(items, output, CACHED, "nodecachestatus", empty="no node has anything cached")
    for node in nodes:
        for error in node.errors:
            said = f"{age(node.updated_at)} ago" if node.updated_at else "at an unknown time"
            click.echo(f"warning: node {node.name}, {said}: {one_line(error)}", err=True)


def _ready(item: Item, nodes: Sequence[NodeCache]) -> int | None:
    if not nodes:
        return None
    key = (item.type, item.name)
    return sum(
        any((each.type, each.name) == key and each.state == "ready" for each in node.items)
        for node in nodes
    )


def _on(count: int | None) -> str:
    if count is None:
        return "?"
    return "1 node" if count == 1 else f"{count} nodes"
