"""`devctl jupyter`."""

from __future__ import annotations

import posixpath
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from devctl.cli.options import command, connected, replica_option, server_name
from devctl.cli.waiting import live_line

if TYPE_CHECKING:
    from devctl.client.client import Client

_PORT = 8888


@click.command()
@server_name
@click.argument("folder", default="/home/dev", metavar="[FOLDER]")
@replica_option
@click.option(
    "--port", type=click.IntRange(1, 65535), metavar="N", help=f"Local port; default: {_PORT}."
)
@click.option("--keep", is_flag=True, help="Leave Jupyter running when this ends.")
@connected
def jupyter(
    client: Client, name: str, folder: str, replica: int, port: int | None, *, keep: bool
) -> None:
    """Start Jupyter in a server, print its local address, and stop it at Ctrl-C.

    \b
    Examples:
      devctl jupyter my-dev
      devctl jupyter my-dev /home/dev/src --port 9000
      devctl jupyter my-dev --keep
    """
    from devctl.client.jupyter import HOME  # noqa: PLC0415 - heavy
    from devctl.client.jupyter import jupyter as start  # noqa: PLC0415
    from devctl.client.streams.port_forwards import is_free  # noqa: PLC0415

    # Only a port that was asked for must be free; else any will do.
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
        text = "until Ctrl-C"
        if keep:
            which = f" --replica {replica}" if replica else ""
            ports = f"{found.forwarded.local}:{found.port}"
            again = command(f"port-forward {name}{which} {ports}")
            end = command(f"exec {name}{which} -- jupyter server stop {found.port}")
            text = f"it keeps running after Ctrl-C: {again} connects again, {end} stops it"
        click.echo(text, err=True)
        found.wait()
