"""`devctl local down`."""

from __future__ import annotations

import click

from devctl.cli.local.options import name_option
from devctl.local.cluster import down as take_down
from devctl.local.paths import cluster_paths


@click.command()
@name_option
def down(name: str) -> None:
    """Take the cluster down; what it stored stays for the next `up`.

    \b
    Examples:
      devctl local down
      devctl local down --name other
    """
    take_down(name)
    click.echo(f"cluster `{name}` is down; its data stays in {cluster_paths(name).root}")
    suffix = "" if name == "devctl" else f" --name {name}"
    click.echo(f"next: devctl local up{suffix}, or delete its data with devctl local reset{suffix}")
