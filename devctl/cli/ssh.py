"""`devctl ssh`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli import names
from devctl.cli.options import connected, server_name

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.ssh.ssh import Ssh


@click.command()
@server_name
@click.argument("argv", metavar="[-- CMD [ARGS]...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--replica", type=click.IntRange(min=0), default=0, metavar="K", help="Which pod.")
@click.option("-L", "forwards", multiple=True, metavar="SPEC", help="Forward a port, as ssh's -L.")
@click.option("-t", "terminal", is_flag=True, help="Give the command a terminal.")
@click.option("-N", "idle", is_flag=True, help="Run nothing: only forward.")
@click.option(
    "--user", metavar="U", default="dev", show_default=True, help="Name of user 1000 in the image."
)
@connected
def ssh(
    client: Client,
    name: str,
    argv: tuple[str, ...],
    replica: int,
    forwards: tuple[str, ...],
    user: str,
    *,
    terminal: bool,
    idle: bool,
) -> None:
    """Open a shell in a server, or run a command there, with the system's ssh.

    One word after `--` is a line for the shell there; of several, each arrives as it is. The exit
    code is the command's. For `ssh`, `scp` and `rsync` themselves, see `devctl config-ssh`.

    \b
    Examples:
      devctl ssh my-dev
      devctl ssh my-dev --replica 1 -- nvidia-smi
      devctl ssh my-dev -- 'cd src && make'
      devctl ssh my-dev -L 6006:localhost:6006
    """
    from devctl.client.ssh.ssh import become  # noqa: PLC0415 - heavy

    known = ssh_of(client)
    destination = known.destination(name, replica, user=user)
    # What is wrong is said here, with an exit code of its own, and not by ssh.
    known.check(destination)
    options = [word for each in forwards for word in ("-L", each)]
    options += ["-t"] * terminal + ["-N"] * idle
    become(destination.command(argv, options))


def ssh_of(client: Client) -> Ssh:
    """What ssh needs, for the cluster that the command line names."""
    from devctl.client.ssh.ssh import Ssh  # noqa: PLC0415 - heavy

    named = names.connection(click.get_current_context())
    return Ssh(client.cluster, named["kubeconfig"], named["context"])
