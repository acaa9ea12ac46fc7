"""`devctl monitor`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli.graphs import History
from devctl.cli.monitor_screen import picture, shares
from devctl.cli.options import connected, output, seconds, server_name
from devctl.cli.results import print_document
from devctl.cli.screen import columns
from devctl.errors import UsageError

if TYPE_CHECKING:
    from devctl.client.client import Client


@click.command()
@server_name
@click.option("--once", is_flag=True, help="Show it once, and exit.")
@click.option(
    "--interval",
    type=seconds,
    metavar="D",
    default="2s",
    show_default=True,
    help="Time between two updates.",
)
@click.option(
    "--processes",
    type=click.IntRange(min=0),
    metavar="N",
    default=5,
    show_default=True,
    help="How many of each replica.",
)
@output("table", "json", "yaml")
@connected
def monitor(
    client: Client, name: str, interval: float, processes: int, output: str, *, once: bool
) -> None:
    """Show what each replica of a server uses: CPU, memory, disk, GPUs and processes.

    It runs until Ctrl-C. Values that are not available are shown as `?`. A wide terminal shows how
    CPU, memory and GPUs were used during the last looks.

    \b
    Examples:
      devctl monitor training-job
      devctl monitor training-job --once -o json
    """
    if once:
        found = client.monitor.once(name)
        if output == "table":
            for line in picture(found, columns(sys.stdout), processes):
                click.echo(line)
        else:
            documents = [sample.document() for sample in found]
            print_document({"server": name, "replicas": documents}, output)
        return
    if output != "table":
        raise UsageError(f"-o {output} needs --once", "add --once, or leave out -o")
    from devctl.cli.live import follow, polled  # noqa: PLC0415 - only this needs it

    if interval <= 0:
        raise UsageError("--interval is too short", "use 1s or more")
    history = History()
    # The poll sleeps between samples.
    looks = polled(lambda: client.monitor.watch(name, sleep=lambda _seconds: None), interval)
    follow(
        history.noting(looks, shares),
        lambda seen, width: picture(seen, width, processes, history),
        lambda seen, _before: [*picture(seen, 0, processes), ""],
    )
