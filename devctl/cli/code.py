"""`devctl code`."""

from __future__ import annotations

import posixpath
import subprocess
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from devctl.cli.options import command, connected, replica_option, server_name, user_option
from devctl.errors import DevctlError, HostError, UsageError

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.ssh.destination import Destination

HOME = "/home/dev"


@click.command()
@server_name
@click.argument("folder", default=HOME, metavar="[FOLDER]")
@replica_option
@click.option(
    "--editor",
    metavar="PROGRAM",
    default="code",
    show_default=True,
    help="VS Code, or a fork of it.",
)
@click.option("--print", "only_print", is_flag=True, help="Only print the address.")
@user_option
@connected
def code(
    client: Client,
    name: str,
    folder: str,
    replica: int,
    editor: str,
    user: str,
    *,
    only_print: bool,
) -> None:
    """Open a server's folder in VS Code, over SSH; it requires the Remote - SSH extension.

    \b
    Examples:
      devctl code my-dev
      devctl code my-dev src --editor cursor
    """
    ssh = client.ssh.kept()
    destination = ssh.destination(name, replica, user=user)
    address = uri(destination.host, folder)
    if only_print:
        click.echo(address)
        return
    ssh.check(destination)
    _let_ssh_know(destination)
    try:
        done = subprocess.run([editor, "--folder-uri", address], check=False)
    except OSError as error:
        raise HostError(
            f"`{editor}` cannot be started: {error.strerror or error}",
            f"install VS Code's command, name another with --editor, or open {address}",
        ) from error
    if done.returncode:
        raise DevctlError(
            f"`{editor}` failed with code {done.returncode}", f"open {address} in it yourself"
        )


def uri(host: str, folder: str) -> str:
    """VS Code's address of a folder on a host.

    >>> uri("lab.devctl", "src/a b")
    'vscode-remote://ssh-remote+lab.devctl/home/dev/src/a%20b'
    """
    if "\0" in folder:
        raise UsageError("the folder has a NUL in its name", "name another one")
    path = posixpath.normpath(posixpath.join(HOME, folder))
    return f"vscode-remote://ssh-remote+{host}/{quote(path.lstrip('/'), errors='surrogateescape')}"


def _let_ssh_know(destination: Destination) -> None:
    """Have ssh find the server, without changing the person's own file unasked."""
    from devctl.client.ssh import config  # noqa: PLC0415 - heavy

    changes = config.additions(destination)
    if changes and not config.is_included():
        raise DevctlError(
            "editors find servers through ssh's configuration, which does not know them yet",
            f"{command('config-ssh')} once, then repeat it",
        )
    config.carry_out(changes)
