"""`devctl flavors`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.api.prices import write_amount
from devctl.cli.formats import TABLES
from devctl.cli.listing import AGE, Listing, lists, sort_by, watch_option
from devctl.cli.options import connected
from devctl.cli.tables import Column
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.flavors import Flavor


def _known(count: int | None) -> object:
    return "?" if count is None else count


def _price(flavor: Flavor) -> str:
    """What an hour of one pod costs."""
    currency = flavor.price.currency
    return f"{write_amount(flavor.pod_price)} {currency}/h" if currency else ""


PRICE = Column("PRICE", _price, key=lambda flavor: flavor.pod_price)
"""Only shown if some flavor has one."""
COLUMNS = [
    Column("NAME", lambda flavor: flavor.name),
    Column("CPU", lambda flavor: flavor.cpu),
    Column("MEMORY", lambda flavor: flavor.memory),
    Column("GPU", lambda flavor: flavor.gpus, spare=True),
    Column("FREE", lambda flavor: _known(flavor.free)),
    Column("TOTAL", lambda flavor: _known(flavor.total)),
    PRICE,
    Column("DEFAULT", lambda flavor: "yes" if flavor.default else "", spare=True),
    Column("STATE", lambda flavor: "cordoned" if flavor.cordoned else "", spare=True),
    Column("MESSAGE", lambda flavor: flavor.message, wide=True),
    AGE,
]
_EVERY = 2.0


@click.command()
@lists(COLUMNS, "devserverflavor", watch_option, sort_by)
@connected
def flavors(client: Client, listing: Listing, *, watch: bool) -> None:
    """Show the flavors of servers: how many pods of each the cluster holds, and how many are free.

    \b
    Examples:
      devctl flavors
      devctl flavors --watch
    """
    if watch:
        from devctl.cli.live import follow_news, polled  # noqa: PLC0415 - only this needs it

        follow_news(polled(lambda: iter(client.flavors.list, None), _EVERY), listing, news)
    found = client.flavors.list()
    if not any(flavor.price.currency for flavor in found):
        listing.columns.remove(PRICE)
    listing.print(found, empty="there are no flavors; an administrator creates them")
    if listing.output in TABLES and any(flavor.free is None for flavor in found):
        click.echo(
            "FREE and TOTAL are not known: the observer has not counted; see `devctl doctor`",
            err=True,
        )


def news(seen: Sequence[Flavor], before: Sequence[Flavor] | None) -> list[str]:
    """A line for each flavor whose number of free pods has changed, or that was (un)cordoned."""
    old = {flavor.name: (flavor.free, flavor.cordoned) for flavor in before or []}
    return [
        one_line(
            f"{flavor.name}: {_known(flavor.free)} of {_known(flavor.total)} free"
            + (", cordoned" if flavor.cordoned else "")
        )
        for flavor in seen
        if old.get(flavor.name) != (flavor.free, flavor.cordoned)
    ]
