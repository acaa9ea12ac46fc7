"""`devctl admin user kubeconfig`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from devctl.cli.admin.user_change import user_name
from devctl.cli.options import command, connected, duration, seconds
from devctl.text import readable

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.users import Method


@click.command()
@user_name
@click.option(
    "--method",
    type=click.Choice(["certificate", "token", "oidc"]),
    default="certificate",
    show_default=True,
    help="The user's own, their automation's, or a login.",
)
@click.option(
    "--expires",
    type=duration,
    metavar="D",
    default="24h",
    show_default=True,
    help="How long the credentials are valid.",
)
@click.option("--file", type=Path, metavar="FILE", help="Where to write it.  [default: stdout]")
@connected
def kubeconfig(
    client: Client, name: str, method: Method, expires: int | str, file: Path | None
) -> None:
    """Issue credentials to a user. The kubeconfig is a secret, but with --method oidc.

    \b
    Examples:
      devctl admin user kubeconfig alice --file alice.yaml
      devctl admin user kubeconfig alice --method token --expires 1h
      devctl admin user kubeconfig alice --method oidc --file alice.yaml
    """
    text = client.users.kubeconfig(name, method, int(seconds(expires)))
    if file is None:
        click.echo(text, nl=False)
        return
    from devctl.client.ssh.keys import writing  # noqa: PLC0415 - heavy
    from devctl.whole_file import write_file  # noqa: PLC0415 - heavy

    with writing(file):
        if file.exists():
            file.chmod(0o600)  # which writing preserves
        write_file(file, text)
    valid = f"log in with {command('login')}" if method == "oidc" else f"valid for {expires}"
    click.echo(f"{readable(str(file))} written; {valid}", err=True)
