"""`k8shazgpu cache plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from devctl.cli import names as completions
from devctl.cli.options import connected, output, unique
from devctl.cli.results import Results, changes, print_item, print_items
from devctl.cli.tables import Column
from devctl.cli.vllm.options import command
from devctl.cli.vllm.options import nodes as nodes_option
from devctl.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from devctl.client.client import Client

ITEMS = [
    Column("TYPE", lambda item: item.type.lower()),
    Column("NAME", lambda item: item.name),
    Column("WHAT", lambda item: item.what),
    Column("VERSION", lambda item: item.version, spare=True),
    Column("NODES", lambda item: item.nodes or "all", spare=True),
]


@click.command()
@output("table", "wide", "json", "yaml", "name")
@connected
def show(client: Client, output: str) -> None:
    """Show what nodes are to have ready; json and yaml are the CachePlan itself.

    \b
    Examples:
      k8shazgpu cache plan show
      k8shazgpu cache plan show -o yaml
    """
    plan = client.cache.plan()
    add = f"an administrator adds items with {command('cache add')}"
    if output in {"table", "wide"}:
        items = plan.items if plan else []
        empty = f"the CachePlan has no items; {add}"
        print_items(items, output, ITEMS, "cacheplan", empty=empty)
        return
    if plan is None:
        raise NotFoundError("there is no CachePlan yet", add)
    print_item(plan, output, "cacheplan")


@click.command()
@click.argument("item", metavar="ITEM", shell_complete=completions.cache_items)
@click.option("--image", "ref", metavar="REF", help="Another image.")
@click.option("--url", metavar="URL", help="Another place of a repository.")
@click.option("--branch", metavar="NAME", help="Another branch; '': its own.")
@click.option("--commit", metavar="SHA", help="Another commit; '': none.")
@click.option("--model", "repo_id", metavar="ID", help="Another model.")
@click.option("--revision", metavar="R", help="Another revision; '': main.")
@nodes_option
@click.option("--all-nodes", is_flag=True, help="For all nodes.")
@changes("cacheplan")
@connected
def update(
    client: Client,
    item: str,
    results: Results,
    nodes: Mapping[str, str] | None,
    repo_id: str | None,
    *,
    all_nodes: bool,
    **own: Any,
) -> None:
    """Change an item of the CachePlan: NAME, or TYPE/NAME if there are several.

    \b
    Examples:
      k8shazgpu cache plan update cuda-runtime --image nvidia/cuda:12.2-runtime
      k8shazgpu cache plan update gitrepo/vllm-main --branch v0.11.0
    """
    if all_nodes and nodes:
        raise UsageError(
            "--all-nodes and --node-selector contradict each other", "leave out one of them"
        )
    own["repoId"] = repo_id
    if not all_nodes and nodes is None and all(value is None for value in own.values()):
        raise UsageError("nothing is to be changed", f"see {command('cache plan update --help')}")
    plan, changed = client.cache.update(item, own, {} if all_nodes else nodes)
    results.add(plan, f"has {item} changed" if changed else f"has {item} so already")


@click.command()
@click.argument(
    "items",
    nargs=-1,
    required=True,
    metavar="ITEM...",
    shell_complete=completions.cache_items,
    callback=unique,
)
@changes("cacheplan")
@connected
def remove(client: Client, items: Sequence[str], results: Results) -> None:
    """Remove items from the CachePlan: each by NAME, or TYPE/NAME if there are several.

    All of them, or none if one is not there.

    \b
    Examples:
      k8shazgpu cache plan remove cuda-runtime
      k8shazgpu cache plan remove model/opt-125m gitrepo/vllm-main
    """
    results.add(client.cache.remove(*items), f"has {', '.join(items)} no longer")
