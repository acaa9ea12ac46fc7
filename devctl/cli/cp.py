"""`devctl cp`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import connected, secrets_option
from devctl.cli.progress import transferred
from devctl.client.files.dotgit import FIX, Withheld
from devctl.client.files.names import named
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@secrets_option
@click.option("--overwrite", is_flag=True, help="Also replace files that differ at the target.")
@connected
def cp(client: Client, source: str, target: str, *, include_secrets: bool, overwrite: bool) -> None:
    """Copy a file or a folder to or from a server.

    Exactly one side is NAME:PATH, or NAME.K:PATH for replica K; a relative PATH starts at the home.
    Copies go into an existing folder. A file arrives whole or not at all; one
    that looks like a secret is sent if named, and skipped inside a folder.

    \b
    Examples:
      devctl cp train.py my-dev:
      devctl cp my-dev:runs/model.safetensors .
      devctl cp data my-dev.1:/home/dev/data
    """
    with transferred() as moved:
        done = client.files.copy(
            source, target, secrets=include_secrets, overwrite=overwrite, moved=moved
        )
    click.echo(done.summary())
    tell_of_secrets(done.secrets)
    tell_of_git(done.git)
    tell_of_trouble(done.left_out, done.changed)


def tell_of_secrets(names: Sequence[str], *, hint: bool = True) -> None:
    """Say which files were not sent because they look like secrets."""
    if names:
        click.echo(f"left out, as they look like secrets: {named(names)}", err=True)
    if names and hint:
        click.echo("  --include-secrets sends them too, `devctl cp` a single one", err=True)


def tell_of_git(found: Withheld) -> None:
    """Say which files of git repositories were not fetched from a pod."""
    if found.files:
        what = f"{found.files:,} file{'s' if found.files > 1 else ''} of git"
        where = named(found.repositories)
        click.echo(f"left out: {what} ({where}), which could run programs here; {FIX}", err=True)


def tell_of_trouble(left_out: Sequence[str], changed: Sequence[str]) -> None:
    """Say what was left out and what changed while it was read; exit with code 1 if anything."""
    for what in left_out:
        click.echo(f"left out: {one_line(what)}", err=True)
    for what in changed:
        click.echo(f"changed while it was read: {one_line(what)}", err=True)
    if left_out or changed:
        click.get_current_context().exit(1)
