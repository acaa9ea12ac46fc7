"""`k8shazgpu status`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeVar

import click

from devctl.cli.options import connected, output
from devctl.cli.results import print_document
from devctl.cli.screen import columns, painted
from devctl.cli.tables import Column, lines_of
from devctl.cli.times import age
from devctl.cli.usage import size
from devctl.cli.vllm.show import COLUMNS as RUNS
from devctl.errors import DeniedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from devctl.client.client import Client
    from devctl.client.vllm.cache_plan import NodeCache
    from devctl.client.vllm.gpus import Gpu, Gpus
    from devctl.client.vllm.run import VLLMRun

Seen = TypeVar("Seen")
_COLOURS = {"Free": "green", "Unhealthy": "red", "Unknown": "yellow"}


def _holder(gpu: Gpu) -> str:
    """Who has a GPU: a claim and, perhaps at the same time, somebody on its node."""
    host = f"host {gpu.reserved_for}" if gpu.reserved_for else ""
    return ", ".join(filter(None, [str(gpu.holder or ""), host]))


GPUS = [
    Column("NODE", lambda gpu: gpu.node),
    Column("GPU", lambda gpu: gpu.device if gpu.index is None else gpu.index),
    Column("STATE", lambda gpu: gpu.state, style=lambda text: painted(text, _COLOURS.get(text))),
    Column("HOLDER", _holder),
    Column("MEMORY", lambda gpu: gpu.memory and size(gpu.memory), spare=True),
    Column("MODEL", lambda gpu: f"{gpu.model} (made up)" if gpu.made_up else gpu.model, spare=True),
    Column("UUID", lambda gpu: gpu.uuid, wide=True),
]
CACHES = [
    Column("NODE", lambda cache: cache.name),
    Column("READY", lambda cache: cache.counts["ready"]),
    Column("PULLING", lambda cache: cache.counts["pulling"]),
    Column("FAILED", lambda cache: cache.counts["failed"]),
    Column("UPDATED", lambda cache: age(cache.updated_at) if cache.updated_at else "", spare=True),
]


@click.command()
@output("table", "wide", "json", "yaml")
@connected
def status(client: Client, output: str) -> None:
    """Show who has which GPU, the runs of the namespace, and the caches of nodes.

    A GPU is Free, Claimed, Reserved on its node by the tool canhazgpu, Unhealthy, or Unknown.

    \b
    Examples:
      k8shazgpu status
      k8shazgpu status -o json
    """
    found = client.gpus()
    runs, caches = _seen(client.vllm_runs.list), _seen(client.cache.nodes)
    if output in {"table", "wide"}:
        _print(found, runs, caches, wide=output == "wide")
        _say_limits(found)
        return
    document = {
        "gpus": [gpu.document() for gpu in found.gpus],
        "complete": found.complete,
        "runs": [run.raw for run in runs],
        "caches": [{"node": cache.name, **cache.counts} for cache in caches],
    }
    print_document(document, output)


def _seen(look: Callable[[], Iterable[Seen]]) -> Sequence[Seen]:
    """What the user may see; nothing if that is nothing."""
    try:
        return list(look())
    except DeniedError:
        return []


def _print(
    found: Gpus, runs: Sequence[VLLMRun], caches: Sequence[NodeCache], *, wide: bool
) -> None:
    width = columns(sys.stdout)
    if found.gpus:
        for line in lines_of(found.gpus, GPUS, width, wide=wide):
            click.echo(line)
        click.echo(f"\n{_counted(found.gpus)}")
    elif found.complete:
        click.echo("no node offers GPUs by claim", err=True)
    for title, lines in (
        ("Runs", lines_of(runs, RUNS, max(0, width - 2), wide=wide) if runs else ()),
        ("Caches", lines_of(caches, CACHES, max(0, width - 2), wide=wide) if caches else ()),
    ):
        if lines:
            click.echo(f"\n{title}:")
        for line in lines:
            click.echo(f"  {line}")


def _counted(gpus: Sequence[Gpu]) -> str:
    """How many GPUs there are in each state.

    >>> _counted([])
    '0 GPUs'
    """
    from devctl.client.vllm.gpus import State  # noqa: PLC0415 - heavy

    counts = {state: sum(gpu.state == state for gpu in gpus) for state in State}
    told = [f"{count} {state.lower()}" for state, count in counts.items() if count]
    number = "1 GPU" if len(gpus) == 1 else f"{len(gpus)} GPUs"
    return f"{number}: {', '.join(told)}" if told else number


def _say_limits(found: Gpus) -> None:
    """Say what the user may not see."""
    if not found.offered:
        click.echo("you may not see what nodes offer: only claimed GPUs are listed", err=True)
    if found.hidden:
        hint = "you may not see the claims of other namespaces"
        click.echo(f"{hint}: GPUs that are `Unknown` may be held there", err=True)
