"""`devctl admin team list` and `describe`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli.admin.team_change import RESOURCE, team_name
from devctl.cli.facts import fact
from devctl.cli.formats import FORMATS
from devctl.cli.listing import AGE, ordered, sort_by
from devctl.cli.options import command, connected, output
from devctl.cli.results import print_document, print_items
from devctl.cli.screen import columns as terminal_columns
from devctl.cli.tables import Column, table
from devctl.cli.times import age
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from devctl.client.client import Client
    from devctl.client.teams import Queue, Team

COLUMNS = [
    Column("NAME", lambda team: team.name),
    Column("QUOTA", lambda team: ",".join(f"{q['name']}={q['pods']}" for q in team.quotas)),
    Column("STATE", lambda team: team.reason or "Pending"),
    Column("COHORT", lambda team: team.cohort, wide=True),
    Column("MEMBERS", lambda team: team.members or "none", wide=True),
    Column("MESSAGE", lambda team: team.message, wide=True),
    AGE,
]


@click.command("list")
@sort_by
@output(*FORMATS)
@connected
def list_(client: Client, output: str, sort_by: str) -> None:
    """List teams.

    \b
    Examples:
      devctl admin team list
      devctl admin team list -o wide
    """
    print_items(
        ordered(client.teams.list(), sort_by, COLUMNS),
        output,
        COLUMNS,
        RESOURCE,
        empty=f"no teams yet; create one with {command('admin team create NAME')}",
    )


@click.command()
@team_name
@output("text", "json", "yaml", "name")
@connected
def describe(client: Client, name: str, output: str) -> None:
    """Show all about a team: quota, what runs and waits, and members.

    \b
    Examples:
      devctl admin team describe vision
    """
    team = client.teams.get(name)
    if output == "name":
        click.echo(f"{RESOURCE}/{team.name}")
        return
    if output != "text":
        print_document(team.raw, output)
        return
    width = terminal_columns(sys.stdout)
    for label, text in _facts(team, client.teams.users(name)):
        for line in fact(label, one_line(text), width):
            click.echo(line)
    if team.quotas:
        click.echo("\nQuota:")
        for line in _quota_table(team, client.teams.queues(name)):
            click.echo(f"  {line}")


def _facts(team: Team, users: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield "Name", team.name
    yield "State", team.reason or "Pending"
    if team.message:
        yield "", team.message
    yield "Cohort", team.cohort
    yield "Users", ", ".join(users) or "(none)"
    yield (
        "Members may",
        {"view": "see each other's servers", "stop": "stop each other's servers"}.get(
            team.members, "not see each other's servers"
        ),
    )
    yield "Age", age(team.created_at)


def _quota_table(team: Team, queues: Mapping[str, Queue]) -> list[str]:
    """The lines of a table of each flavor's quota, and of the servers that use it or wait."""
    rows = []
    for quota in team.quotas:
        queue = queues.get(quota["name"])
        counts = (str(queue.running), str(queue.waiting)) if queue else ("-", "-")
        borrow = str(quota["borrow"]) if "borrow" in quota else "any"
        rows.append((quota["name"], str(quota["pods"]), borrow, *counts))
    return table(("FLAVOR", "PODS", "BORROW", "RUNNING", "WAITING"), rows)
