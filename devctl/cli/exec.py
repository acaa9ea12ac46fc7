"""`devctl exec`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli.options import connected, server_name
from devctl.errors import UsageError

if TYPE_CHECKING:
    from devctl.client.client import Client


@click.command("exec")
@server_name
@click.argument("argv", metavar="-- CMD [ARGS]...", nargs=-1, type=click.UNPROCESSED, required=True)
@click.option("-i", "--stdin", "reads", is_flag=True, help="Give it what is typed or piped here.")
@click.option("-t", "--tty", "terminal", is_flag=True, help="Give it a terminal.")
@click.option("--replica", type=click.IntRange(min=0), default=0, metavar="K", help="Which pod.")
@connected
def exec_(
    client: Client,
    name: str,
    argv: tuple[str, ...],
    replica: int,
    *,
    reads: bool,
    terminal: bool,
) -> int:
    """Run a command in a server, without SSH.

    Each word arrives as it is: no shell takes them apart. The exit code is the command's.

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
        raise UsageError("-t needs a terminal here, and standard input is none", "leave out -t")
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
