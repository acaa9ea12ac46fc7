"""`devctl flavors`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.formats import FORMATS, TABLES, chosen_format
from devctl.cli.listing import AGE, ordered, sort_by
from devctl.cli.options import connected, output, watch_option
from devctl.cli.results import print_items
from devctl.cli.tables import Column, lines_of
from devctl.errors import UsageError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.flavors import Flavor


def _known(count: int | None) -> object:
    return "?" if count is None else count


COLUMNS = [
    Column("NAME", lambda flavor: flavor.name),
    Column("CPU", lambda flavor: flavor.cpu),
    Column("MEMORY", lambda flavor: flavor.memory),
    Column("GPU", lambda flavor: flavor.gpus, spare=True),
    Column("FREE", lambda flavor: _known(flavor.free)),
    Column("TOTAL", lambda flavor: _known(flavor.total)),
    Column("DEFAULT", lambda flavor: "yes" if flavor.default else "", spare=True),
    Column("MESSAGE", lambda flavor: flavor.message, wide=True),
    AGE,
]
_EVERY = 2.0


@click.command()
@watch_option
@sort_by
@output(*FORMATS)
@connected
def flavors(client: Client, output: str, sort_by: str, *, watch: bool) -> None:
    """Show the flavors of servers: how many pods of each the cluster holds, and how many are free.

    \b
    Examples:
      devctl flavors
      devctl flavors --watch
    """
    if not watch:
        ordered([], sort_by, COLUMNS)  # refuses a wrong key before the cluster is asked
        found = client.flavors.list()
        print_items(
            ordered(found, sort_by, COLUMNS),
            output,
            COLUMNS,
            "devserverflavor",
            empty="there are no flavors; an administrator creates them",
        )
        if output in TABLES and any(flavor.free is None for flavor in found):
            click.echo(
                "FREE and TOTAL are not known: the observer has not counted; see `devctl doctor`",
                err=True,
            )
        return
    if chosen_format(output) not in TABLES:
        raise UsageError("--watch shows a table", "leave out -o, or --watch")
    from devctl.cli.live import follow, polled  # noqa: PLC0415 - only this needs it

    follow(
        polled(client.flavors.list, _EVERY),
        lambda seen, width: list(lines_of(seen, COLUMNS, width)),
        news,
    )


def news(seen: Sequence[Flavor], before: Sequence[Flavor] | None) -> list[str]:
    """A line for each flavor of which another number is free than before."""
    old = {flavor.name: flavor.free for flavor in before or []}
    return [
        one_line(f"{flavor.name}: {_known(flavor.free)} of {_known(flavor.total)} free")
        for flavor in seen
        if flavor.name not in old or old[flavor.name] != flavor.free
    ]
