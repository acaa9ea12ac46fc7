"""`devctl admin user list` and `describe`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli.admin.user_change import RESOURCE, user_name
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
    from collections.abc import Iterator, Sequence

    from devctl.client.client import Client
    from devctl.client.users import Use, User

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


@click.command("list")
@sort_by
@output(*FORMATS)
@connected
def list_(client: Client, output: str, sort_by: str) -> None:
    """List users.

    \b
    Examples:
      devctl admin user list
      devctl admin user list -o wide
    """
    print_items(
        ordered(client.users.list(), sort_by, COLUMNS),
        output,
        COLUMNS,
        RESOURCE,
        empty=f"no users yet; create one with {command('admin user create NAME')}",
    )


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
    if output != "text":
        print_document(user.raw, output)
        return
    width = terminal_columns(sys.stdout)
    for label, text in _facts(user):
        for line in fact(label, one_line(text), width):
            click.echo(line)
    if used := client.users.quotas().get(name):
        click.echo("\nQuota:")
        for line in quota_table(used):
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
    if shared := user.spec.get("sharedStorage"):
        yield "Shared", f"{user.name}-shared-efs, {shared['size']}"
    yield "Age", age(user.created_at)


def quota_table(uses: Sequence[Use]) -> list[str]:
    """The lines of a table of what is used and free."""
    rows = [(use.what, use.used, use.free, use.hard) for use in uses]
    return table(("RESOURCE", "USED", "FREE", "QUOTA"), rows)
