"""`devctl local up`, `devctl local down`, `devctl local reset` and `devctl local load`."""

from __future__ import annotations

import tempfile
import time
from ipaddress import IPv4Network
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from devctl.cli.confirm import yes_option
from devctl.cli.local.group import name_option, suffix
from devctl.errors import HostError
from devctl.local import build, kubeconfig, machine, steps, supervisor
from devctl.local.cluster import down as take_down
from devctl.local.cluster import existing
from devctl.local.cluster import reset as forget
from devctl.local.cluster import up as bring_up
from devctl.local.node_images import export_image, import_archive, import_missing
from devctl.local.parts import load_parts
from devctl.local.paths import cache_paths, cluster_paths
from devctl.local.settings import WantedRanges

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.decorators import FC


def cidr(value: str) -> IPv4Network:
    """The type of an option that takes an IPv4 range in CIDR notation."""
    try:
        return IPv4Network(value)
    except ValueError as error:
        raise click.BadParameter(f"`{value}` is not an IPv4 range: {error}") from error


class PartNames(click.ParamType[tuple[str, ...]]):
    """Names of optional parts, separated by commas."""

    name = "part"

    def convert(
        self,
        value: str | tuple[str, ...],
        param: click.Parameter | None,  # noqa: ARG002 - click's signature
        ctx: click.Context | None,  # noqa: ARG002
    ) -> tuple[str, ...]:
        """Split the list; whether the parts exist is checked later."""
        return tuple(value.split(",")) if isinstance(value, str) else value

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        """Complete the last name of the list."""
        before, comma, last = incomplete.rpartition(",")
        return [
            CompletionItem(f"{before}{comma}{part.name}", help=part.summary)
            for part in load_parts().values()
            if part.name.startswith(last)
        ]


def _part_option(flag: str, parameter: str, text: str) -> Callable[[FC], FC]:
    metavar = "NAME[,NAME]"
    return click.option(
        flag, parameter, metavar=metavar, type=PartNames(), multiple=True, help=text
    )


@click.command()
@name_option
@click.option("--nodes", metavar="N", type=int, help="How many nodes, 1 to 4; a new cluster has 2.")
@click.option("--node-range", type=cidr, help="The nodes' addresses, at least a /24.")
@click.option("--pod-range", type=cidr, help="The pods' addresses, at least a /22.")
@click.option("--service-range", type=cidr, help="The services' addresses, at least a /24.")
@_part_option("--with", "added", f"Add optional parts: {', '.join(load_parts())}.")
@_part_option("--without", "removed", "Remove optional parts.")
@click.option("--merge-kubeconfig", is_flag=True, help="Also add the cluster to ~/.kube/config.")
def up(
    name: str,
    nodes: int | None,
    node_range: IPv4Network | None,
    pod_range: IPv4Network | None,
    service_range: IPv4Network | None,
    added: tuple[tuple[str, ...], ...],
    removed: tuple[tuple[str, ...], ...],
    *,
    merge_kubeconfig: bool,
) -> None:
    """Create, start or repair the cluster, by doing only what is missing.

    Parts, like the number of nodes, are kept until another `up` changes them.

    \b
    Examples:
      devctl local up
      devctl local up --with network-policy,kueue
      devctl local up --nodes 3
      devctl local up --name ci --pod-range 198.19.32.0/19
    """
    started = time.monotonic()
    click.echo(f"bringing up local cluster `{name}`")
    ranges = WantedRanges(node_range, pod_range, service_range)
    settings = bring_up(name, nodes, ranges, tuple(chain(*added)), tuple(chain(*removed)))
    paths = cluster_paths(name)
    seconds = time.monotonic() - started
    click.echo(f"cluster `{name}` is up with {settings.node_count} nodes in {seconds:.0f} s")
    if merge_kubeconfig:
        target = Path.home() / ".kube" / "config"
        kubeconfig.merge(paths.kubeconfig, target, f"devctl-local-{name}")
        click.echo(f"context `devctl-local-{name}` added to {target}")
    else:
        click.echo(f"next: export KUBECONFIG={paths.kubeconfig}")


@click.command()
@name_option
def down(name: str) -> None:
    """Stop the cluster; its data is kept for the next `up`.

    \b
    Examples:
      devctl local down
      devctl local down --name other
    """
    take_down(name)
    click.echo(f"cluster `{name}` is down; its data stays in {cluster_paths(name).root}")
    named = suffix(name)
    click.echo(f"next: devctl local up{named}, or delete its data with devctl local reset{named}")


@click.command()
@name_option
@yes_option
@click.option("--confirm", metavar="NAME", hidden=True)
def reset(name: str, confirm: str | None, *, yes: bool) -> None:
    """Stop the cluster and delete everything it stored, volumes included.

    Built programs and images stay cached.

    \b
    Examples:
      devctl local reset
      devctl local reset --yes
    """
    _, paths = existing(name)
    if confirm is None and not yes:
        what = f"This deletes every object and volume in {paths.root}."
        confirm = click.prompt(f"{what}\nType `{name}` to confirm", err=True)
    if confirm not in {None, name}:
        raise click.UsageError(f"`{confirm}` is not `{name}`: nothing was deleted")
    forget(name)
    click.echo(f"cluster `{name}` deleted")
    kubeconfig.unmerge(Path.home() / ".kube" / "config", f"devctl-local-{name}")
    click.echo("next: devctl local up")


@click.command()
@click.argument("image")
@name_option
def load(image: str, name: str) -> None:
    """Load an image into every node: an archive, one of docker, podman or buildah, or our own.

    \b
    Examples:
      devctl local load devserver        # devctl's own, built first if need be
      devctl local load my-image.tar
      devctl local load company/pytorch-dev:1.4
    """
    machine.check_caller()
    settings, paths = existing(name)
    if supervisor.running_pid(paths) is None:
        raise HostError(f"cluster `{name}` is not up", "start it with `devctl local up`")
    groups, images = build.describe(cache_paths())
    ctr = steps.PROGRAMS_IN_NODE / groups["containerd"].folder(cache_paths()).name / "ctr"
    if image in images:
        build.ensure_built(cache_paths(), click.echo, also={image})
        for node in settings.nodes:
            import_missing(paths.node(node.name), [images[image]], str(ctr), cache_paths())
            click.echo(f"{node.name}: `{images[image].reference}` is there")
        return
    with tempfile.TemporaryDirectory(dir=paths.root) as temporary:
        archive = Path(image)
        if not archive.is_file():
            archive = Path(temporary) / "image.tar"
            export_image(image, archive)
        for node in settings.nodes:
            import_archive(paths.node(node.name), archive, str(ctr))
            click.echo(f"{node.name}: `{image}` loaded")
