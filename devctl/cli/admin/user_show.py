"""`devctl admin user list` and `describe`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.admin.budget import budget_fact
from devctl.cli.admin.user_change import RESOURCE, user_name
from devctl.cli.listing import AGE, Listing, lists, sort_by
from devctl.cli.options import command, connected, output
from devctl.cli.page import print_page
from devctl.cli.tables import Column, lines_of
from devctl.cli.times import age

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.client.client import Client
    from devctl.client.users import User

COLUMNS = [
    Column("NAME", lambda user: user.name),
    Column("USER", lambda user: user.username),
    Column("NAMESPACE", lambda user: user.space, spare=True),
    Column("STATE", lambda user: user.reason or "Pending"),
    Column("FLAVOR", lambda user: user.default_flavor, wide=True),
    Column("TEAM", lambda user: user.team, wide=True),
    Column("EMAIL", lambda user: user.email, wide=True),
    Column("MESSAGE", lambda user: user.message, wide=True),
    AGE,
]
USES = [
    Column("RESOURCE", lambda use: use.what),
    Column("USED", lambda use: use.used),
    Column("FREE", lambda use: use.free),
    Column("QUOTA", lambda use: use.hard),
]
"""The columns of a table of what is used and free."""


@click.command("list")
@lists(COLUMNS, RESOURCE, sort_by)
@connected
def list_(client: Client, listing: Listing) -> None:
    """List users.

    \b
    Examples:
      devctl admin user list
      devctl admin user list -o wide
    """
    create = command("admin user create NAME")
    listing.print(client.users.list(), empty=f"no users yet; create one with {create}")


@click.command()
@user_name
@output("text", "json", "yaml", "name")
@connected
def describe(client: Client, name: str, output: str) -> None:
    """Show all about a user: state, namespace, and use of the quota.

    \b
    Examples:
      devctl admin user describe alice
    """
    user = client.users.get(name)
    if output == "name":
        click.echo(f"{RESOURCE}/{user.name}")
        return
    print_page(user, output, _facts(user))
    if output == "text" and (used := client.users.quotas(name).get(name)):
        click.echo("\nQuota:")
        for line in lines_of(used, USES):
            click.echo(f"  {line}")


def _facts(user: User) -> Iterator[tuple[str, str]]:
    yield "Name", user.name
    yield "User", user.username
    if user.email:
        yield "Email", user.email
    if groups := user.spec.get("groups"):
        yield "Groups", ", ".join(groups)
    yield "Namespace", user.space
    yield "State", user.reason or "Pending"
    if user.message:
        yield "", user.message
    if user.team:
        yield "Team", f"{user.team}, priority {user.priority or 'normal'}"
    yield "Flavor", user.default_flavor or "(the default)"
    if spent := budget_fact(user):
        yield "Budget", spent
    if shared := user.spec.get("sharedStorage"):
        yield "Shared", f"{user.name}-shared-efs, {shared['size']}"
    yield "Age", age(user.created_at)
