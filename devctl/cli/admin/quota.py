"""`devctl admin quota`, and `devctl quota` for users."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.admin.user_show import USES
from devctl.cli.options import connected, output
from devctl.cli.results import print_document
from devctl.cli.tables import Column, lines_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.queues.team_quota import TeamQuota
    from devctl.client.users import Use


def _of(column: Column) -> Column:
    """The same column of rows that also name the user."""
    return column._replace(value=lambda row: column.value(row[1]))


_COLUMNS = [Column("USER", lambda row: row[0]), *map(_of, USES)]


@click.command()
@output("table", "json", "yaml")
@connected
def quota(client: Client, output: str) -> None:
    """Show what each user uses of their quota.

    \b
    Examples:
      devctl admin quota
      devctl admin quota -o json
    """
    found = client.users.quotas()
    if output != "table":
        print_document({user: _plain(uses) for user, uses in sorted(found.items())}, output)
        return
    rows = [(user, use) for user, uses in sorted(found.items()) for use in uses]
    if not rows:
        click.echo("no user has a quota", err=True)
        return
    for line in lines_of(rows, _COLUMNS):
        click.echo(line)


@click.command("quota")
@output("table", "json", "yaml")
@connected
def own_quota(client: Client, output: str) -> None:
    """Show what is used and free of the quota of your namespace and of your team.

    \b
    Examples:
      devctl quota
    """
    uses = [*client.users.own_quota(), *map(_of_team, client.users.team_quotas() or [])]
    if output != "table":
        print_document(_plain(uses), output)
    elif uses:
        for line in lines_of(uses, USES):
            click.echo(line)
    else:
        click.echo(f"namespace `{client.namespace}` has no quota", err=True)


def _of_team(quota: TeamQuota) -> Use:
    """A team's quota of a flavor, as a row of the table."""
    from devctl.client.users import Use  # noqa: PLC0415 - heavy

    what = f"pods of `{quota.flavor}`, team `{quota.team}`"
    return Use(what, str(quota.used), str(quota.pods))


def _plain(uses: Sequence[Use]) -> dict[str, dict[str, str]]:
    from devctl.client.users import document  # noqa: PLC0415 - heavy

    return document(uses)
