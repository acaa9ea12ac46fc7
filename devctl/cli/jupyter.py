"""`devctl jupyter`."""

from __future__ import annotations

import posixpath
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from devctl.cli.options import command, connected, server_name
from devctl.cli.waiting import live_line

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.jupyter import Jupyter

_PORT = 8888


@click.command()
@server_name
@click.argument("folder", default="/home/dev", metavar="[FOLDER]")
@click.option("--replica", type=click.IntRange(min=0), default=0, metavar="K", help="Which pod.")
@click.option(
    "--port", type=click.IntRange(1, 65535), metavar="N", help=f"The port here; else {_PORT}."
)
@click.option("--keep", is_flag=True, help="Leave Jupyter running when this ends.")
@connected
def jupyter(
    client: Client, name: str, folder: str, replica: int, port: int | None, *, keep: bool
) -> None:
    """Start Jupyter in a server, and print its address here; it ends with Ctrl-C.

    \b
    Examples:
      devctl jupyter my-dev
      devctl jupyter my-dev /home/dev/src --port 9000
      devctl jupyter my-dev --keep
    """
    from devctl.client.jupyter import HOME  # noqa: PLC0415 - heavy
    from devctl.client.jupyter import jupyter as start  # noqa: PLC0415
    from devctl.client.streams.port_forwards import is_free  # noqa: PLC0415

    # A port that was asked for is meant; else any will do.
    local = port or (_PORT if is_free(_PORT) else 0)
    path = posixpath.normpath(posixpath.join(HOME, folder))
    with ExitStack() as stack:
        with live_line(name, "Jupyter starts", "Jupyter was not waited for") as line:
            started = start(
                client.cluster, name, replica=replica, folder=path, local=local, keep=keep
            )
            found = stack.enter_context(started)
            line.clear()
        click.echo(found.url)
        _say(found, name, replica, keep=keep)
        found.wait()


def _say(found: Jupyter, name: str, replica: int, *, keep: bool) -> None:
    if not keep:
        click.echo("until Ctrl-C", err=True)
        return
    which = f" --replica {replica}" if replica else ""
    ports = f"{found.forwarded.local}:{found.port}"
    again = command(f"port-forward {name}{which} {ports}")
    end = command(f"exec {name}{which} -- jupyter server stop {found.port}")
    click.echo(f"it stays after Ctrl-C: {again} leads there again, {end} ends it", err=True)
