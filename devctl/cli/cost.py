"""`devctl cost`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli import names
from devctl.cli.csv_format import csv_text
from devctl.cli.listing import all_namespaces
from devctl.cli.options import connected, output
from devctl.cli.results import print_document
from devctl.cli.screen import columns as terminal_columns
from devctl.cli.spent import money
from devctl.cli.tables import Column, lines_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.usage import By, Spending


def _hours(hours: float) -> str:
    return f"{hours:.1f}" if hours else ""


COLUMNS = [
    Column("NAME", lambda row: row.what),
    Column("HOURS", lambda row: f"{row.hours:.1f}"),
    Column("GPU HOURS", lambda row: _hours(row.gpu_hours)),
    Column("IDLE HOURS", lambda row: _hours(row.idle_hours), spare=True),
    Column("SPENT", lambda row: money(row.spent, row.currency)),
    Column("IDLE", lambda row: money(row.idle, row.currency) if row.idle else ""),
    Column("SAVED", lambda row: money(row.saved, row.currency) if row.saved else "", spare=True),
]


@click.command()
@click.option("--month", metavar="YYYY-MM", help="By UTC.  [default: this one]")
@click.option(
    "--by",
    type=click.Choice(["user", "flavor", "server"]),
    default="server",
    show_default=True,
    help="What is summed up.",
)
@click.option("--team", metavar="T", shell_complete=names.teams, help="A team's, everywhere.")
@all_namespaces
@output("table", "json", "yaml", "csv")
@connected
def cost(
    client: Client,
    month: str | None,
    by: By,
    team: str | None,
    output: str,
    *,
    all_namespaces: bool,
) -> None:
    """Show what ran in a month, and what it cost.

    It is what you own in the namespace; with --by user, with --team and with -A it is everyone's.
    SPENT includes IDLE, what idle servers have cost. SAVED is what they would have cost, had they
    not been stopped, estimated. What runs is included up to some minutes ago.

    \b
    Examples:
      devctl cost
      devctl cost --month 2026-10 --by flavor
      devctl cost -A --by user -o csv > cost.csv
    """
    from devctl.client.usage import check_month, this_month, totals  # noqa: PLC0415 - heavy
    from devctl.kube.cluster import EVERYWHERE  # noqa: PLC0415 - heavy

    month = check_month(month) if month else this_month()
    everyone = all_namespaces or team is not None
    where = EVERYWHERE if everyone else None
    owner = None if everyone or by == "user" else client.whoami()
    rows = client.usage.spending(month, where, by=by, owner=owner, team=team)
    if team and not rows:
        client.teams.get(team)  # which says so if it does not exist
    if output == "csv":
        click.echo(csv_text([by, *_CSV], [list(row.raw.values()) for row in rows]), nl=False)
    elif output != "table":
        sums = [row.raw for row in totals(rows)]
        print_document({"month": month, by: [row.raw for row in rows], "total": sums}, output)
    elif not rows:
        inside = "" if where else f" in namespace `{client.namespace}`"
        click.echo(
            f"nothing{'' if owner is None else ' of yours'} ran in {month}{inside}", err=True
        )
    else:
        _print(rows, totals(rows), by, wide=everyone)


_CSV = (
    *("namespace", "seconds", "gpu_seconds", "idle_seconds", "saved_seconds"),
    *("currency", "spent", "spent_idle", "saved"),
)


def _print(rows: Sequence[Spending], sums: Sequence[Spending], by: By, *, wide: bool) -> None:
    shown = [COLUMNS[0]._replace(title=by.upper()), *COLUMNS[1:]]
    if wide and by == "server":
        shown.insert(0, Column("NAMESPACE", lambda row: row.namespace))
    more = sums if len(rows) > 1 else ()
    for line in lines_of([*rows, *more], shown, terminal_columns(sys.stdout)):
        click.echo(line)
