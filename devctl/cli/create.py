"""`devctl create`, and the options of a server's spec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from devctl.cli import names
from devctl.cli.options import connected, dry_run_option, duration, preference, stacked
from devctl.cli.queueing import say_limits
from devctl.cli.results import Results, changes
from devctl.cli.waiting import patience, see_started, waits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from devctl.client.client import Client
    from devctl.client.manifests import CreateOptions

_COUNT = click.IntRange(min=1)


def _setting(text: str) -> tuple[str, str]:
    """The type of an option that takes a setting, such as `NCCL_DEBUG=INFO`."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(f"`{text}` is not a setting: write for example `NCCL_DEBUG=INFO`")
    return name, value


def server_options(*, new: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of a spec; those of a new server have defaults."""
    flavor = "Default: the cluster's default flavor." if new else "Resources of each pod."
    image = "Default: $DEVCTL_IMAGE, else the cluster's." if new else "Container image."
    return stacked(
        click.option(
            "--flavor",
            metavar="F",
            shell_complete=names.flavors,
            default=preference("flavor") if new else None,
            help=flavor,
        ),
        click.option(
            "--image", metavar="REF", default=preference("image") if new else None, help=image
        ),
        *((_DISTRIBUTED,) if new else ()),
        click.option("--replicas", type=_COUNT, metavar="N", help="Number of pods."),
        click.option("--world-size", type=_COUNT, metavar="N", help="Number of ranks in all."),
        click.option("--nproc-per-node", type=_COUNT, metavar="N", help="Ranks per pod."),
        click.option(
            "--backend",
            type=click.Choice(["nccl", "gloo", "mpi"]),
            help="torch.distributed backend.",
        ),
        click.option("--nccl", type=_setting, multiple=True, metavar="K=V", help="NCCL variable."),
        click.option("--home-size", metavar="SIZE", help="Size of /home/dev, for example 100Gi."),
        click.option("--shared", metavar="CLAIM", help="Claim to mount at /shared."),
        *((_TTL, _DELETE_AFTER_STOPPED, _MAX_RUNTIME) if new else ()),
        click.option(
            "--idle-timeout",
            type=duration,
            metavar="D",
            help="Stop it after being idle for this long.",
        ),
        click.option("--no-ssh", is_flag=True, help="Disable SSH.")
        if new
        else click.option("--ssh/--no-ssh", default=None, help="Enable or disable SSH."),
    )


_DISTRIBUTED = click.option("--distributed", is_flag=True, help="Several pods that train together.")
_TTL = click.option(
    "--ttl", type=duration, metavar="D", help="Delete it this long after creation, e.g. 3d."
)

_DELETE_AFTER_STOPPED = click.option(
    "--delete-after-stopped",
    type=duration,
    metavar="D",
    help="Delete it once stopped for this long.",
)
_MAX_RUNTIME = click.option(
    "--max-runtime", type=duration, metavar="D", help="Stop it this long after each start, e.g. 1d."
)


def chosen(
    *,
    distributed: bool = False,
    no_ssh: bool = False,
    nccl: Sequence[tuple[str, str]] = (),
    **asked: Any,
) -> CreateOptions:
    """The options that were given.

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


@click.command()
@click.argument("name", metavar="NAME")
@server_options(new=True)
@waits
@patience
@dry_run_option
@changes()
@connected
def create(
    client: Client,
    name: str,
    dry_run: str,
    results: Results,
    timeout: float,
    *,
    wait: bool,
    **asked: Any,
) -> None:
    """Create a server. Its files outlive it.

    \b
    Examples:
      devctl create my-dev --flavor gpu-large
      devctl create training-job --flavor gpu-large --distributed --replicas 4
      devctl create my-dev --ttl 3d --idle-timeout 2h --wait
    """
    options = chosen(**asked)
    if dry_run == "client":
        from devctl.client.servers import Server  # noqa: PLC0415 - heavy

        results.add(Server(client.servers.manifest(name, **options)), "created (dry run)")
    elif dry_run == "server":
        made = client.servers.create(name, dry_run=True, **options)
        results.add(made, "created (server dry run)")
        say_limits(client.servers.limits(name, **options), results)
    else:
        created = client.servers.create(name, **options)
        results.add(created, "created")
        see_started(client, created, results, timeout, wait=wait, first="asked for")
