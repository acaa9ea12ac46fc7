"""`devctl monitor`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli.options import connected, duration, output, seconds, server_name
from devctl.cli.screen import columns
from devctl.cli.tables import print_document
from devctl.errors import DevctlError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.monitor import Sample


@click.command()
@server_name
@click.option("--once", is_flag=True, help="Show it once, and end.")
@click.option(
    "--interval",
    type=duration,
    metavar="D",
    default="2s",
    show_default=True,
    help="Time between two looks.",
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
    client: Client, name: str, interval: int | str, processes: int, output: str, *, once: bool
) -> None:
    """Show what a server uses: processors, memory, disk of home, GPUs, processes; per replica.

    It goes on until Ctrl-C. What cannot be found out is shown as `?`.

    \b
    Examples:
      devctl monitor training-job
      devctl monitor training-job --once -o json
    """
    from devctl.cli.monitor_table import picture  # noqa: PLC0415

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
    from devctl.cli.watching import Watching  # noqa: PLC0415 - only this needs it

    every = seconds(interval)
    if every <= 0:
        raise UsageError("there is no time between two looks", "name 1s or more")
    Watching(
        _Looks(client, name),
        lambda seen, width: picture(seen, width, processes),
        lambda seen, _before: [*picture(seen, 0, processes), ""],
        every,
    ).run()


class _Looks:
    """Looks at a server each time that it is called."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self._name = client, name
        self._begin()

    def _begin(self) -> None:
        # The time between looks is the picture's.
        self._found = self._client.monitor.watch(self._name, sleep=lambda _seconds: None)

    def __call__(self) -> Sequence[Sample]:
        try:
            return next(self._found)
        except DevctlError:
            # What has failed goes on no more.
            self._begin()
            raise
