"""`devctl local reset`."""

from __future__ import annotations

from pathlib import Path

import click

from devctl.cli.confirm import yes_option
from devctl.cli.local.options import name_option
from devctl.local import kubeconfig
from devctl.local.cluster import existing
from devctl.local.cluster import reset as forget


@click.command()
@name_option
@yes_option
@click.option("--confirm", metavar="NAME", hidden=True)
def reset(name: str, confirm: str | None, *, yes: bool) -> None:
    """Take the cluster down and delete everything that it stored, volumes included.

    Built programs and images stay cached.

    \b
    Examples:
      devctl local reset
      devctl local reset --yes
    """
    _, paths = existing(name)
    if confirm is None:
        confirm = (
            name
            if yes
            else click.prompt(
                f"This deletes every object and volume in {paths.root}.\nType `{name}` to confirm",
                err=True,
            )
        )
    if confirm != name:
        raise click.UsageError(f"`{confirm}` is not `{name}`: nothing was deleted")
    forget(name)
    click.echo(f"cluster `{name}` deleted")
    kubeconfig.unmerge(Path.home() / ".kube" / "config", f"devctl-local-{name}")
    click.echo("next: devctl local up")
