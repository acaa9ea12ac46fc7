"""`devctl top`."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from devctl.cli.graphs import Graph, History, with_graphs
from devctl.cli.listing import NAMESPACE, all_namespaces, sort_by, sorter, watch_option
from devctl.cli.options import connected, output, seconds
from devctl.cli.results import print_document
from devctl.cli.screen import coloured, columns
from devctl.cli.tables import Column, folded, lines_of
from devctl.cli.times import age, left
from devctl.cli.usage import bytes_of, cpus_of, part
from devctl.errors import UsageError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from datetime import datetime

    from devctl.client.client import Client
    from devctl.client.load import Load

_DRAWN = ("CPU", "MEMORY", "GPU")
"""The columns with a graph."""


def _gpus(load: Load) -> str:
    count = str(load.gpus) if load.gpus else ""
    if load.gpu_percent is None:
        return count
    return f"{load.gpu_percent:.0f}% of {count}" if count else f"{load.gpu_percent:.0f}%"


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None


COLUMNS = [
    Column("NAME", lambda load: load.name),
    Column("KIND", lambda load: load.kind, spare=True),
    Column("PHASE", lambda load: load.item.phase, style=coloured),
    Column(
        "AGE",
        lambda load: age(load.item.created_at),
        spare=True,
        key=lambda load: -load.item.created_at.timestamp(),
    ),
    Column(
        "CPU",
        lambda load: cpus_of(load.cpu, load.cpus) if load.samples else "",
        key=lambda load: load.cpu,
    ),
    Column(
        "MEMORY",
        lambda load: bytes_of(load.memory, load.memory_size) if load.samples else "",
        key=lambda load: load.memory,
    ),
    Column("GPU", _gpus, key=lambda load: load.gpus),
    Column(
        "GPU MEMORY",
        lambda load: bytes_of(load.gpu_memory, load.gpu_memory_size) if load.gpu_memory else "",
        spare=True,
        key=lambda load: load.gpu_memory,
    ),
    Column("IDLE", lambda load: age(load.idle_since), key=lambda load: _seconds(load.idle_since)),
    Column("STOPS", lambda load: left(load.stops_at), key=lambda load: _seconds(load.stops_at)),
]


@click.command()
@all_namespaces
@sort_by
@watch_option
@click.option(
    "--interval",
    type=seconds,
    metavar="D",
    default="5s",
    show_default=True,
    help="Time between two updates.",
)
@output("table", "json", "yaml")
@connected
def top(
    client: Client,
    interval: float,
    output: str,
    sort_by: str,
    *,
    all_namespaces: bool,
    watch: bool,
) -> None:
    """Show what all servers and jobs use: CPU, memory and GPUs, and since when they are idle.

    Jobs are not measured; their GPUs are those that they request. Values that are not available
    are shown as `?`.

    \b
    Examples:
      devctl top --watch
      devctl top -A --sort-by cpu
      devctl top -o json
    """
    from devctl.kube.cluster import EVERYWHERE  # noqa: PLC0415 - heavy

    shown = [NAMESPACE, *COLUMNS] if all_namespaces else COLUMNS
    key = sorter(sort_by, shown) if sort_by else None
    where = EVERYWHERE if all_namespaces else None

    def ordered(loads: Sequence[Load]) -> Sequence[Load]:
        return sorted(loads, key=key) if key else loads

    if watch:
        if output != "table":
            raise UsageError(f"-o {output} shows one moment", "leave out --watch, or -o")
        if interval <= 0:
            raise UsageError("--interval is too short", "use 1s or more")
        from devctl.cli.live import follow, polled  # noqa: PLC0415 - only this needs it

        history = History()
        # The poll sleeps between looks.
        looks = polled(lambda: client.top.watch(where, sleep=lambda _seconds: None), interval)
        follow(
            history.noting(looks, shares),
            lambda loads, width: picture(ordered(loads), shown, width, history),
            lambda loads, _before: [*picture(ordered(loads), shown), ""],
        )
    loads = ordered(client.top.once(where))
    if output != "table":
        print_document({"items": [load.document() for load in loads]}, output)
    elif not loads:
        inside = "" if where else f" in namespace `{client.namespace}`"
        click.echo(f"no servers or jobs{inside}; create one with `devctl create NAME`", err=True)
    else:
        for line in picture(loads, shown, columns(sys.stdout)):
            click.echo(line)


def picture(
    loads: Sequence[Load],
    shown: Sequence[Column],
    width: int = 0,
    history: History | None = None,
) -> list[str]:
    """The lines: a row for each, and what could not be measured; `width` 0 is any.

    With a history, see `shares`, there are graphs where lines have room for them.
    """
    if history and width:
        graphs = [Graph(title, partial(_past, history, title)) for title in _DRAWN]
        shown = with_graphs(loads, shown, graphs, width)
    lines = list(lines_of(loads, shown, width))
    for load in loads:
        for problem in load.problems:
            lines += folded(one_line(f"not measured: {problem}"), width)
    return lines


def shares(loads: Sequence[Load]) -> Mapping[Hashable, float | None]:
    """The parts of CPU, memory and GPUs that are used, for a history."""
    return {
        (title, *_place(load)): share
        for load in loads
        for title, share in (
            ("CPU", part(load.cpu, load.cpus)),
            ("MEMORY", part(load.memory, load.memory_size)),
            ("GPU", part(load.gpu_percent, 100)),
        )
    }


def _past(history: History, title: str, load: Load) -> Sequence[float | None]:
    return history.of((title, *_place(load)))


def _place(load: Load) -> tuple[str, str, str]:
    return load.kind, load.namespace, load.name
