"""`devctl admin team list` and `describe`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.admin.budget import budget_fact
from devctl.cli.admin.team_change import RESOURCE, team_name
from devctl.cli.listing import AGE, Listing, lists, sort_by
from devctl.cli.options import command, connected, output
from devctl.cli.page import print_page
from devctl.cli.tables import Column, lines_of
from devctl.cli.times import age

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.client.client import Client
    from devctl.client.teams import Team

COLUMNS = [
    Column("NAME", lambda team: team.name),
    Column("QUOTA", lambda team: ",".join(f"{q['name']}={q['pods']}" for q in team.quotas)),
    Column("STATE", lambda team: team.reason or "Pending"),
    Column("COHORT", lambda team: team.cohort, wide=True),
    Column("MEMBERS", lambda team: team.members or "none", wide=True),
    Column("MESSAGE", lambda team: team.message, wide=True),
    AGE,
]


_QUOTAS = [
    Column("FLAVOR", lambda row: row[0]["name"]),
    Column("PODS", lambda row: row[0]["pods"]),
    Column("BORROW", lambda row: row[0].get("borrow", "any")),
    Column("RUNNING", lambda row: row[1].running if row[1] else "-"),
    Column("WAITING", lambda row: row[1].waiting if row[1] else "-"),
]
"""Of each flavor's quota, and of the servers that use it or wait."""


@click.command("list")
@lists(COLUMNS, RESOURCE, sort_by)
@connected
def list_(client: Client, listing: Listing) -> None:
    """List teams.

    \b
    Examples:
      devctl admin team list
      devctl admin team list -o wide
    """
    create = command("admin team create NAME")
    listing.print(client.teams.list(), empty=f"no teams yet; create one with {create}")


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
    print_page(team, output, _facts(client, team))
    if output == "text" and team.quotas:
        queues = client.teams.queues(name)
        click.echo("\nQuota:")
        for line in lines_of(
            [(quota, queues.get(quota["name"])) for quota in team.quotas], _QUOTAS
        ):
            click.echo(f"  {line}")


def _facts(client: Client, team: Team) -> Iterator[tuple[str, str]]:
    yield "Name", team.name
    yield "State", team.reason or "Pending"
    if team.message:
        yield "", team.message
    yield "Cohort", team.cohort
    yield "Users", ", ".join(client.teams.users(team.name)) or "(none)"
    yield (
        "Members may",
        {"view": "see each other's servers", "stop": "stop each other's servers"}.get(
            team.members, "not see each other's servers"
        ),
    )
    if team.shared_storage:
        yield "Shared volume", "{size}, class {storageClassName}".format_map(team.shared_storage)
        count = len(team.namespaces)
        where = f"in {count} namespace{'' if count == 1 else 's'}"
        yield "", f"mounted with `--shared {team.claim}` {where}"
    if spent := budget_fact(team):
        yield "Budget", spent
    yield "Age", age(team.created_at)
