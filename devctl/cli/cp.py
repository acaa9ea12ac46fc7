"""`devctl cp`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import connected
from devctl.cli.progress import transferred
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.files.names import Withheld


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--include-secrets", is_flag=True, help="Send .env files, keys and tokens too.")
@click.option("--overwrite", is_flag=True, help="Also replace files that differ at the target.")
@connected
def cp(client: Client, source: str, target: str, *, include_secrets: bool, overwrite: bool) -> None:
    """Copy a file or a folder to a server, or from it.

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


def tell_of_secrets(names: Sequence[str]) -> None:
    """Say which files were not sent, for they look like secrets."""
    from devctl.client.files.names import named  # noqa: PLC0415 - heavy

    if names:
        click.echo(f"left out, as they look like secrets: {named(names)}", err=True)
        click.echo("  --include-secrets sends them too, `devctl cp` a single one", err=True)


def tell_of_git(found: Withheld) -> None:
    """Say what a pod has kept, as it is part of git repositories."""
    from devctl.client.files.names import GIT_FIX as FIX  # noqa: PLC0415 - heavy
    from devctl.client.files.names import named  # noqa: PLC0415

    if found.files:
        what = f"{found.files:,} file{'s' if found.files > 1 else ''} of git"
        where = named(found.repositories)
        click.echo(f"left out: {what} ({where}), which could run programs here; {FIX}", err=True)


def tell_of_trouble(left_out: Sequence[str], changed: Sequence[str]) -> None:
    """Say what was not taken, and end with exit code 1 where that is something.

    Args:
        left_out: What we do not take, each with why.
        changed: Files that changed while they were read.
    """
    for what in left_out:
        click.echo(f"left out: {one_line(what)}", err=True)
    for what in changed:
        click.echo(f"changed while it was read: {one_line(what)}", err=True)
    if left_out or changed:
        click.get_current_context().exit(1)
