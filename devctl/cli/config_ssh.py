"""`devctl config-ssh`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli.confirm import yes_option
from devctl.cli.options import connected
from devctl.cli.ssh import ssh_of
from devctl.errors import UsageError

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.ssh.config import Change


@click.command("config-ssh")
@click.option("--diff", is_flag=True, help="Only show what would change.")
@click.option("--remove", is_flag=True, help="Undo it.")
@yes_option
@click.option(
    "--user", metavar="U", default="dev", show_default=True, help="Name of user 1000 in the images."
)
@connected
def config_ssh(client: Client, user: str, *, diff: bool, remove: bool, yes: bool) -> None:
    """Let ssh, scp, rsync and editors find the servers of a namespace, now and later.

    They are called NAME.devctl, and NAME.K.devctl from replica 1 on. This writes a file of
    devctl's own and one Include line into ~/.ssh/config. OpenSSH 8.4 or newer is needed.

    \b
    Examples:
      devctl config-ssh
      devctl config-ssh --diff
      scp data.csv my-dev.devctl:
      rsync -a src/ my-dev.devctl:src/
    """
    from devctl.client.ssh import config  # noqa: PLC0415 - heavy

    if remove:
        changes = config.removals()
    else:
        changes = config.additions(ssh_of(client).kept().destination("any", user=user))
    if not changes:
        click.echo("nothing to change", err=True)
    elif diff:
        for change in changes:
            click.echo(change.diff(), nl=False)
        return
    else:
        _ask(changes, yes=yes)
        config.carry_out(changes)
        for change in changes:
            click.echo(f"{change.path} {'removed' if change.after is None else 'written'}")
    if not remove:
        click.echo("next: `ssh NAME.devctl`", err=True)


def _ask(changes: list[Change], *, yes: bool) -> None:
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "this changes files in ~/.ssh; nobody is here to be asked", "add --yes, or --diff"
        )
    for change in changes:
        click.echo(change.diff(), nl=False, err=True)
    click.confirm("Write this?", default=True, abort=True, err=True)
