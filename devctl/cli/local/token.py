"""`devctl local token`."""

from __future__ import annotations

import time

import click

from devctl.cli.local.group import name_option, suffix
from devctl.errors import NotFoundError
from devctl.local.cluster import existing
from devctl.local.worker_tokens import DEFAULT_SECONDS, ROLES, sign

HOUR = 3600


@click.command()
@click.argument("user", metavar="USER")
@click.option(
    "--role", type=click.Choice(ROLES), default="user", show_default=True, help="What it permits."
)
@click.option(
    "--hours",
    type=click.IntRange(1, 720),
    default=DEFAULT_SECONDS // HOUR,
    show_default=True,
    help="For how long.",
)
@name_option
def token(user: str, role: str, hours: int, name: str) -> None:
    """Print a token of the GPU workers API for anybody.

    The part `workers` has a key that signs it; who has it needs no provider to log in with.

    \b
    Examples:
      TOKEN=$(devctl local token alice)
      TOKEN=$(devctl local token carol --role admin --hours 1)
    """
    _, paths = existing(name)
    file = paths.parts / "workers" / "signing.key"
    if not file.is_file():
        raise NotFoundError(
            f"cluster `{name}` has no GPU workers",
            f"add them: `devctl local up --with workers{suffix(name)}`",
        )
    click.echo(sign(file.read_bytes(), user, role, now=int(time.time()), seconds=hours * HOUR))
