"""What `create` and `update` can ask of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from devctl.cli import names
from devctl.cli.options import duration
from devctl.cli.preference import preference

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from devctl.client.manifests import CreateOptions

_COUNT = click.IntRange(min=1)


def _setting(text: str) -> tuple[str, str]:
    """An option's value that is a setting, such as `NCCL_DEBUG=INFO`."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(f"`{text}` is not a setting: write for example `NCCL_DEBUG=INFO`")
    return name, value


def server_options(*, new: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of a server's spec.

    Args:
        new: Whether it is made: then there are defaults to speak of.
    """
    flavor = "Else the default one." if new else "Resources of each pod."
    image = "Else $DEVCTL_IMAGE, else the cluster's." if new else "Container image."
    options = (
        click.option(
            "--flavor",
            metavar="F",
            shell_complete=names.flavors,
            default=preference("flavor") if new else None,
            help=flavor,
        ),
        click.option(
            "--image",
            metavar="REF",
            default=preference("image") if new else None,
            help=image,
        ),
        *((_DISTRIBUTED,) if new else ()),
        click.option("--replicas", type=_COUNT, metavar="N", help="Number of pods."),
        click.option("--world-size", type=_COUNT, metavar="N", help="Number of processes in all."),
        click.option("--nproc-per-node", type=_COUNT, metavar="N", help="Processes per pod."),
        click.option(
            "--backend",
            type=click.Choice(["nccl", "gloo", "mpi"]),
            help="torch.distributed backend.",
        ),
        click.option("--nccl", type=_setting, multiple=True, metavar="K=V", help="NCCL variable."),
        click.option("--home-size", metavar="SIZE", help="Size of /home/dev, for example 100Gi."),
        click.option("--shared", metavar="CLAIM", help="Claim to mount at /shared."),
        *((_TTL,) if new else ()),
        click.option(
            "--idle-timeout",
            type=duration,
            metavar="D",
            help="Idle limit; recorded, not enforced yet.",
        ),
        click.option("--no-ssh", is_flag=True, help="Disable SSH.")
        if new
        else click.option("--ssh/--no-ssh", default=None, help="Enable or disable SSH."),
    )

    def give(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return give


_DISTRIBUTED = click.option("--distributed", is_flag=True, help="Several pods that train together.")
_TTL = click.option(
    "--ttl", type=duration, metavar="D", help="Delete it this long after creation, e.g. 3d."
)


def chosen(
    *,
    distributed: bool = False,
    no_ssh: bool = False,
    nccl: Sequence[tuple[str, str]] = (),
    **asked: Any,
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
