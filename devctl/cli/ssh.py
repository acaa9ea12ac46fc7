"""Shells and commands in servers: `devctl ssh`, `config-ssh`, what ssh connects through; `exec`."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import click

from devctl.cli.confirm import somebody_is_here, yes_option
from devctl.cli.options import connected, replica_option, server_name, user_option
from devctl.errors import DevctlError, UsageError

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.ssh.config import Change


@click.command()
@server_name
@click.argument("argv", metavar="[-- CMD [ARGS]...]", nargs=-1, type=click.UNPROCESSED)
@replica_option
@click.option("-L", "forwards", multiple=True, metavar="SPEC", help="Forward a port, as ssh's -L.")
@click.option("-t", "terminal", is_flag=True, help="Give the command a terminal.")
@click.option("-N", "idle", is_flag=True, help="Run nothing: only forward.")
@user_option
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

    A single word after `--` is a command line for the shell there; several arrive as they are. The
    exit code is the command's. For `ssh`, `scp` and `rsync` themselves, see `devctl config-ssh`.

    \b
    Examples:
      devctl ssh my-dev
      devctl ssh my-dev --replica 1 -- nvidia-smi
      devctl ssh my-dev -- 'cd src && make'
      devctl ssh my-dev -L 6006:localhost:6006
    """
    from devctl.client.ssh.ssh import become  # noqa: PLC0415 - heavy

    destination = client.ssh.destination(name, replica, user=user)
    # Problems are reported here, with an exit code of their own, rather than by ssh.
    client.ssh.check(destination)
    options = [word for each in forwards for word in ("-L", each)]
    options += ["-t"] * terminal + ["-N"] * idle
    become(destination.command(argv, options))


@click.command("config-ssh")
@click.option("--diff", is_flag=True, help="Only show what would change.")
@click.option("--remove", is_flag=True, help="Undo it.")
@yes_option
@user_option
@connected
def config_ssh(client: Client, user: str, *, diff: bool, remove: bool, yes: bool) -> None:
    """Let ssh, scp, rsync and editors find the servers of a namespace, present and future.

    Their hosts are NAME.devctl, and NAME.K.devctl from replica 1 on. This writes a file of devctl's
    own and one Include line into ~/.ssh/config. It requires OpenSSH 8.4 or newer.

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
        changes = config.additions(client.ssh.kept().destination("any", user=user))
    if not changes:
        click.echo("nothing to change", err=True)
    elif diff:
        for change in changes:
            click.echo(change.diff(), nl=False)
        return
    else:
        if not yes:
            _ask(changes)
        config.carry_out(changes)
        for change in changes:
            click.echo(f"{change.path} {'removed' if change.after is None else 'written'}")
    if not remove:
        click.echo("next: `ssh NAME.devctl`", err=True)


def _ask(changes: list[Change]) -> None:
    if not somebody_is_here():
        raise UsageError(
            "this changes files in ~/.ssh; there is no terminal to ask on", "add --yes, or --diff"
        )
    for change in changes:
        click.echo(change.diff(), nl=False, err=True)
    click.confirm("Write this?", default=True, abort=True, err=True)


@click.command("ssh-proxy", hidden=True)
@click.argument("host", metavar="HOST")
@click.option("--replica", hidden=True)
@connected
def ssh_proxy(client: Client, host: str, replica: str | None) -> int:
    """Carry an SSH session over standard input and output."""
    if replica is not None:
        raise UsageError(
            "ssh's configuration is from an earlier release of devctl", "run `devctl config-ssh`"
        )
    from devctl.client.ssh.destination import parse_host  # noqa: PLC0415 - heavy
    from devctl.client.ssh.proxy import connect  # noqa: PLC0415 - heavy
    from devctl.client.streams.stdio import write  # noqa: PLC0415 - heavy

    # Ctrl-C is for ssh, which ends this with itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        destination = client.ssh.destination(*parse_host(host))
        return connect(
            client.cluster, destination, source=0, output=1, tell=lambda data: write(2, data)
        )
    except DevctlError as error:
        if not sys.stderr.isatty():
            raise
        # ssh has put the terminal into a mode in which `\n` does not return to the left.
        text = "".join(f"\r\n{line}" for line in error.lines())
        write(2, f"{text}\r\n".encode())
        return error.exit_code


@click.command("exec")
@server_name
@click.argument("argv", metavar="-- CMD [ARGS]...", nargs=-1, type=click.UNPROCESSED, required=True)
@click.option("-i", "--stdin", "reads", is_flag=True, help="Pass on standard input.")
@click.option("-t", "--tty", "terminal", is_flag=True, help="Give it a terminal.")
@replica_option
@connected
def exec_(
    client: Client, name: str, argv: tuple[str, ...], replica: int, *, reads: bool, terminal: bool
) -> int:
    """Run a command in a server, without SSH.

    Each word arrives as it is: no shell splits it. The exit code is the command's.

    \b
    Examples:
      devctl exec my-dev -- nvidia-smi
      devctl exec my-dev -it -- bash
      devctl exec my-dev -i -- tar x < data.tar
      devctl exec my-dev --replica 1 -- sh -c 'echo $RANK'
    """
    from devctl.client.streams.stdio import write  # noqa: PLC0415 - heavy

    if terminal and not reads:
        raise UsageError("-t requires -i", "add -i: `-it`")
    if terminal and not sys.stdin.isatty():
        raise UsageError("-t needs a terminal as standard input", "leave out -t")
    sys.stdout.flush()
    return client.execute.attached(
        name,
        argv,
        1,
        lambda data: write(2, data),
        replica=replica,
        source=0 if reads else None,
        terminal=terminal,
    )
