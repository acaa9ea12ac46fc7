"""`devctl admin report`."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from devctl.api.devserver_user import COUNTED
from devctl.api.quantities import parse_quantity
from devctl.cli import names
from devctl.cli.csv_format import csv_text
from devctl.cli.listing import sorter
from devctl.cli.options import connected, output
from devctl.cli.results import print_document
from devctl.cli.screen import columns as terminal_columns
from devctl.cli.tables import Column, lines_of
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.client.client import Client
    from devctl.client.report import Report, Row
    from devctl.client.users import Use

_NOBODY, _TOTAL = "(none)", "TOTAL"
"""In place of a user's name, which has neither capitals nor parentheses."""


def _share(use: Use) -> float:
    """How much of a bound is used; 1 for all of it."""
    hard = parse_quantity(use.hard)
    return float(parse_quantity(use.used) / hard) if hard else 0.0


def _fullest(row: Row) -> float:
    return max(map(_share, row.quota), default=0.0)


def _quota(row: Row) -> str:
    """The resource of which the largest part of the quota is used."""
    if not row.quota:
        return ""
    use = max(row.quota, key=_share)
    return f"{use.what} {_share(use):.0%}"


COLUMNS = [
    # Users come first.
    Column("USER", lambda row: row.user or _NOBODY, key=lambda row: row.user or f"~{row.owner}"),
    Column("OWNER", lambda row: row.owner),
    Column("TEAM", lambda row: row.team, spare=True),
    Column("RUNNING", lambda row: row.used.running),
    Column("STOPPED", lambda row: row.used.stopped, spare=True),
    Column("WAITING", lambda row: row.used.waiting),
    Column("FAILED", lambda row: row.used.failed or "", spare=True),
    Column("JOBS", lambda row: row.used.jobs, spare=True),
    Column("GPU", lambda row: row.used.raw["gpus"]),
    Column("CPU", lambda row: row.used.raw["cpu"]),
    Column("MEMORY", lambda row: row.used.raw["memory"]),
    Column("STORAGE", lambda row: row.used.raw["storage"]),
    Column("QUOTA", _quota, spare=True, key=_fullest),
]


@click.command()
@click.option("--team", metavar="T", shell_complete=names.teams, help="Only members of this team.")
@click.option(
    "--sort-by", metavar="KEY", default="user", help="A column, or a path such as .servers.running."
)
@output("table", "json", "yaml", "csv")
@connected
def report(client: Client, team: str | None, sort_by: str, output: str) -> None:
    """Show who uses what now: servers, jobs, storage, and the GPUs, CPU and memory that pods hold.

    GPU, CPU and MEMORY are the requests of pods on nodes: of servers and of running jobs. QUOTA is
    the resource of which the largest part of the user's quota is used. What is in no user's
    namespace is listed by owner, as user (none).

    \b
    Examples:
      devctl admin report
      devctl admin report --team vision --sort-by gpu
      devctl admin report -o csv > usage.csv
    """
    key = sorter(sort_by, COLUMNS)
    found = client.users.report(team)
    if team and not found.rows:
        client.teams.get(team)  # which says so if it does not exist
    found = replace(found, rows=sorted(found.rows, key=key))
    if output == "csv":
        click.echo(csv_text(_CSV, _cells(found)), nl=False)
    elif output != "table":
        print_document(found.raw, output)
    elif not found.rows:
        click.echo(f"team `{team}` has no members" if team else "nobody uses anything", err=True)
    else:
        rows = [*found.rows, _total(found)]
        for line in lines_of(rows, COLUMNS, terminal_columns(sys.stdout)):
            click.echo(line)
    if found.unknown:
        some = ", ".join(f"`{one_line(name)}`" for name in found.unknown)
        click.echo(f"not included, as their flavors do not exist: {some}", err=True)


_COUNTS = ("running", "stopped", "waiting", "failed")
_AMOUNTS = ("gpus", "cpu", "memory", "storage")
_CSV = (
    *("user", "owner", "team"),
    *(f"servers_{state}" for state in _COUNTS),
    "jobs_running",
    *_AMOUNTS,
    *(f"quota_{name}{part}" for name in COUNTED for part in ("_used", "")),
)
"""The titles of columns."""


def _total(report: Report) -> Row:
    from devctl.client.report import Row  # noqa: PLC0415 - heavy

    return Row(_TOTAL, "", used=report.total)


def _cells(report: Report) -> Iterator[list[object]]:
    for row in (*report.rows, _total(report)):
        raw, bounds = row.used.raw, {use.what: (use.used, use.hard) for use in row.quota}
        yield [
            *(row.user or _NOBODY, row.owner, row.team),
            *(raw["servers"][state] for state in _COUNTS),
            raw["jobs"]["running"],
            *(raw[name] for name in _AMOUNTS),
            *(part for name in COUNTED for part in bounds.get(name, (None, None))),
        ]
