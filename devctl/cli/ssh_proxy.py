"""`devctl ssh-proxy`: what ssh connects through; people never type it."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import click

from devctl.cli.options import connected
from devctl.cli.ssh import ssh_of
from devctl.errors import DevctlError, UsageError

if TYPE_CHECKING:
    from devctl.client.client import Client


@click.command("ssh-proxy", hidden=True)
@click.argument("host", metavar="HOST")
@click.option("--replica", hidden=True)
@connected
def ssh_proxy(client: Client, host: str, replica: str | None) -> int:
    """Carry an SSH session over standard input and output."""
    if replica is not None:
        raise UsageError(
            "ssh's configuration is of an earlier release of devctl", "run `devctl config-ssh`"
        )
    from devctl.client.ssh.destination import parse_host  # noqa: PLC0415 - heavy
    from devctl.client.ssh.proxy import connect  # noqa: PLC0415 - heavy
    from devctl.client.streams.stdio import write  # noqa: PLC0415 - heavy

    # Ctrl-C is for ssh, which ends this with itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        destination = ssh_of(client).destination(*parse_host(host))
        return connect(
            client.cluster,
            destination,
            source=0,
            output=1,
            tell=lambda data: write(2, data),
        )
    except DevctlError as error:
        if not sys.stderr.isatty():
            raise
        # ssh has the terminal in a mode in which a new line does not begin at the left.
        text = "".join(f"\r\n{line}" for line in error.lines())
        write(2, f"{text}\r\n".encode())
        return error.exit_code
