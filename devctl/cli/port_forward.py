"""`devctl port-forward` and `devctl jupyter`: ports of servers on this machine."""

from __future__ import annotations

import posixpath
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import click

from devctl.cli.options import command, connected, replica_option, server_name
from devctl.cli.waiting import live_line

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.errors import DevctlError

_LARGEST = 65535
_JUPYTER = 8888


class Ports(NamedTuple):
    """A local port, 0 for any free one, and the server's."""

    local: int
    remote: int


def ports(value: str) -> Ports:
    """The type of an argument that names ports.

    >>> ports("8888"), ports("8080:80"), ports(":80")
    (Ports(local=8888, remote=8888), Ports(local=8080, remote=80), Ports(local=0, remote=80))
    """
    local, colon, remote = value.rpartition(":")
    numbers = (local or "0", remote) if colon else (remote, remote)
    if not all(each.isdecimal() and each.isascii() for each in numbers):
        raise click.BadParameter(f"`{value}` names no ports: write `8888`, `8080:80` or `:80`")
    found = Ports(int(numbers[0]), int(numbers[1]))
    if not 0 < found.remote <= _LARGEST or found.local > _LARGEST:
        raise click.BadParameter(f"`{value}`: ports are from 1 to {_LARGEST}")
    return found


@click.command("port-forward")
@server_name
@click.argument("forwarded", metavar="[LOCAL:]PORT...", type=ports, nargs=-1, required=True)
@replica_option
@connected
def port_forward(client: Client, name: str, forwarded: tuple[Ports, ...], replica: int) -> None:
    """Forward ports of a server to 127.0.0.1, until Ctrl-C.

    \b
    Examples:
      devctl port-forward my-dev 6006
      devctl port-forward my-dev 8080:80 :5000
    """
    with ExitStack() as stack:
        opened = [
            stack.enter_context(
                client.forward(name, each.remote, each.local, replica=replica, failed=_tell)
            )
            for each in forwarded
        ]
        for each in opened:
            click.echo(f"127.0.0.1:{each.local} -> {name}-{replica}:{each.port}")
        click.echo("until Ctrl-C", err=True)
        opened[0].wait()


def _tell(error: DevctlError) -> None:
    for line in error.lines():
        click.echo(line, err=True)


@click.command()
@server_name
@click.argument("folder", default="/home/dev", metavar="[FOLDER]")
@replica_option
@click.option(
    "--port", type=click.IntRange(1, 65535), metavar="N", help=f"Local port; default: {_JUPYTER}."
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
    from devctl.client.streams.port_forwards import is_free  # noqa: PLC0415

    # Only a port that was asked for must be free; else any will do.
    local = port or (_JUPYTER if is_free(_JUPYTER) else 0)
    path = posixpath.normpath(posixpath.join(HOME, folder))
    with ExitStack() as stack:
        with live_line(name, "Jupyter starts", "Jupyter was not waited for") as line:
            started = client.jupyter(name, path, replica=replica, port=local, keep=keep)
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
