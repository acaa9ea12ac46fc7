"""`devctl admin user suspend`, `resume` and `delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.admin.user_change import RESOURCE, user_name
from devctl.cli.confirm import answers, confirm_names
from devctl.cli.options import command, connected
from devctl.cli.results import Results, changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client


@click.command()
@user_name
@changes(RESOURCE)
@connected
def suspend(client: Client, name: str, results: Results) -> None:
    """Stop a user's servers, and let none start. Files are kept, and the user can look.

    \b
    Examples:
      devctl admin user suspend alice
    """
    results.add(client.users.suspend(name), "suspended")
    if not results.quiet:
        click.echo(f"undo: {command(f'admin user resume {name}')}", err=True)


@click.command()
@user_name
@changes(RESOURCE)
@connected
def resume(client: Client, name: str, results: Results) -> None:
    """Let a suspended user work again. The user starts the servers.

    \b
    Examples:
      devctl admin user resume alice
    """
    results.add(client.users.resume(name), "resumed")


@click.command()
@user_name
@answers
@changes(RESOURCE)
@connected
def delete(
    client: Client, name: str, confirm: Sequence[str], results: Results, *, yes: bool
) -> None:
    """Take a user's access. The namespace stays, with servers and files; suspend stops servers.

    \b
    Examples:
      devctl admin user suspend alice
      devctl admin user delete alice
    """
    user = client.users.get(name)
    confirm_names([name], confirm, f"this takes the access of `{user.username}`", yes=yes)
    results.add(client.users.delete(user), "deleted")
    if not results.quiet:
        again = command(f"admin user create {user.username} --name {name}")
        click.echo(f"namespace `{user.space}` is kept; {again} gives it back", err=True)
