"""`devctl workers cost`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli.options import output
from devctl.cli.results import print_document
from devctl.cli.screen import columns
from devctl.cli.tables import Column, lines_of
from devctl.cli.workers.options import served
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from devctl.client.workers.workers import Workers

_UNITS = {"gpu": "GPU seconds", "core": "core seconds", "gigabyte": "MB seconds"}
LINES = [
    Column("KIND", lambda line: line.kind),
    Column("HELD", lambda line: f"{line.quantity} {_UNITS.get(line.kind, '')}".strip()),
    Column("PRICE", lambda line: line.price, spare=True),
    Column("AMOUNT", lambda line: line.amount),
]
_JOB = Column("JOB", lambda line: line.job_id)


@click.command()
@click.argument("job_id", metavar="[JOB]", required=False)
@click.option("--month", metavar="YYYY-MM", help="The invoice of a month instead.")
@output("table", "json", "yaml", "csv")
@served
def cost(workers: Workers, job_id: str | None, month: str | None, output: str) -> None:
    """Show what a job costs, by what it holds; without a job, what your account has left.

    It is charged for the time in which the cluster saw it run, to the second. While it runs, its
    cost is that until now. PRICE is that of an hour of a GPU, a core or a gigabyte.

    \b
    Examples:
      devctl workers cost JOB
      devctl workers cost
      devctl workers cost --month 2026-05 -o csv > may.csv
    """
    if job_id and month:
        raise UsageError("a job's cost is not by month", "leave out the job, or --month")
    if output == "csv" and not month:
        raise UsageError("only a month's invoice is CSV", "name one with --month")
    if month and output == "csv":
        click.echo(workers.invoice_csv(month), nl=False)
    elif month:
        found = workers.invoice(month)
        total = f"{found.charged} {found.currency}, {found.credited} {found.currency} credited"
        _print(found, output, [_JOB, *LINES], f"charged in {month}: {total}")
    elif job_id:
        job = workers.jobs.cost(job_id)
        until = "for good" if job.final else "until now"
        _print(job, output, LINES, f"{until}: {job.amount} {job.currency}")
    else:
        left = workers.balance()
        more = f", and jobs have cost {left.open} that is not charged yet"
        words = f"left: {left.left} {left.currency}"
        _print(left, output, (), f"{words}{more}" if left.open.strip("0.") else words)


def _print(found: Any, output: str, shown: Sequence[Column], total: str) -> None:
    if output != "table":
        print_document(found.raw, output)
        return
    if shown and found.lines:
        for line in lines_of(found.lines, shown, columns(sys.stdout)):
            click.echo(line)
        click.echo()
    click.echo(total)
