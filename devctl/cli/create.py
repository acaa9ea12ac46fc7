"""`devctl create`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from devctl.cli import names
from devctl.cli.options import (
    command,
    connected,
    duration,
    patience,
    result_output,
    seconds,
    waits,
)
from devctl.cli.results import Results
from devctl.cli.waiting import see_ready, wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.manifest import CreateOptions

_COUNT = click.IntRange(min=1)


def _setting(text: str) -> tuple[str, str]:
    """An option's value that is a setting, such as `NCCL_DEBUG=INFO`."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(f"`{text}` is no setting: write for example `NCCL_DEBUG=INFO`")
    return name, value


@click.command()
@click.argument("name", metavar="NAME")
@click.option("--flavor", metavar="F", shell_complete=names.flavors, help="Else the default one.")
@click.option("--image", metavar="REF", help="Else $DEVCTL_IMAGE, else the cluster's.")
@click.option("--distributed", is_flag=True, help="Several pods that train together.")
@click.option("--replicas", type=_COUNT, metavar="N", help="How many pods.")
@click.option("--world-size", type=_COUNT, metavar="N", help="How many processes in all.")
@click.option("--nproc-per-node", type=_COUNT, metavar="N", help="Processes in each pod.")
@click.option("--backend", type=click.Choice(["nccl", "gloo", "mpi"]), help="What they speak.")
@click.option("--nccl", type=_setting, multiple=True, metavar="K=V", help="A variable of NCCL.")
@click.option("--home-size", metavar="SIZE", help="Of /home/dev, for example 100Gi.")
@click.option("--shared", metavar="CLAIM", help="A claim to mount at /shared.")
@click.option("--ttl", type=duration, metavar="D", help="Delete it after so long, e.g. 3d.")
@click.option("--idle-timeout", type=duration, metavar="D", help="Kept, not acted on yet.")
@click.option("--no-ssh", is_flag=True, help="No shell over SSH.")
@waits
@patience
@click.option(
    "--dry-run",
    type=click.Choice(["none", "client", "server"]),
    default="none",
    help="Show it, or have the API server check it.",
)
@result_output
@connected
def create(
    client: Client,
    name: str,
    dry_run: str,
    output: str | None,
    timeout: int | str,
    *,
    wait: bool | None,
    **asked: Any,
) -> None:
    """Create a server. Its files outlive it.

    \b
    Examples:
      devctl create my-dev --flavor gpu-large
      devctl create training-job --flavor gpu-large --distributed --replicas 4
      devctl create my-dev --ttl 3d --idle-timeout 2h --wait
    """
    options, results = chosen(**asked), Results(output)
    if dry_run == "client":
        from devctl.client.server import Server  # noqa: PLC0415 - heavy

        manifest = Server(client.servers.manifest(name, **options))
        results.add(manifest, "created (dry run)")
    elif dry_run == "server":
        made = client.servers.create(name, dry_run=True, **options)
        results.add(made, "created (server dry run)")
    else:
        results.add(client.servers.create(name, **options), "created")
        if wanted(wait=wait):
            results.add(see_ready(client, name, seconds(timeout), "asked for"), "ready")
        elif not results.quiet:
            click.echo(f"see what it does with {command(f'describe {name}')}", err=True)
    results.print()


def chosen(
    *, distributed: bool, no_ssh: bool, nccl: Sequence[tuple[str, str]], **asked: Any
) -> CreateOptions:
    """What was asked for; what nobody asked for is left out.

    >>> chosen(distributed=False, no_ssh=True, nccl=[], flavor="gpu-large", ttl=None)
    {'flavor': 'gpu-large', 'ssh': False}
    """
    options: Any = {name: value for name, value in asked.items() if value is not None}
    if distributed:
        options["distributed"] = True
    if no_ssh:
        options["ssh"] = False
    if nccl:
        options["nccl"] = dict(nccl)
    found: CreateOptions = options
    return found
