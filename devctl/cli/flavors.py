"""`devctl flavors`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from devctl.cli.formats import chosen_format
from devctl.cli.list import AGE
from devctl.cli.options import connected, output, watch_option
from devctl.cli.sorting import ordered, sort_by
from devctl.cli.tables import FORMATS, Column, print_items, table_of
from devctl.errors import UsageError

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
    """Show what servers can run on: per flavor, how many pods the cluster holds and has free.

    \b
    Examples:
      devctl flavors
      devctl flavors --watch
    """
    if not watch:
        in_order = partial(ordered, key=sort_by, columns=COLUMNS)
        in_order([])  # a key that is none is told of before the cluster is asked
        found = client.flavors.list()
        print_items(
            in_order(found),
            output,
            COLUMNS,
            "devserverflavor",
            empty="there are no flavors; an administrator makes them",
        )
        if output in {"table", "wide"} and any(flavor.free is None for flavor in found):
            click.echo(
                "FREE and TOTAL are not known: the observer has not counted; see `devctl doctor`",
                err=True,
            )
        return
    if chosen_format(output) not in {"table", "wide"}:
        raise UsageError("--watch shows a table", "leave out -o, or --watch")
    from devctl.cli.watching import Watching  # noqa: PLC0415 - only this needs it

    Watching(client.flavors.list, _table, news, _EVERY).run()


def _table(seen: Sequence[Flavor], width: int) -> list[str]:
    return table_of(seen, [column for column in COLUMNS if not column.wide], width)


def news(seen: Sequence[Flavor], before: Sequence[Flavor] | None) -> list[str]:
    """A line for each flavor of which not as many are free as before."""
    old = {flavor.name: flavor.free for flavor in before or []}
    return [
        f"{flavor.name}: {_known(flavor.free)} of {_known(flavor.total)} free"
        for flavor in seen
        if flavor.name not in old or old[flavor.name] != flavor.free
    ]
