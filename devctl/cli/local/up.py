"""`devctl local up`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from devctl.cli.local.options import NetworkType, name_option
from devctl.local import kubeconfig
from devctl.local.cluster import up as bring_up
from devctl.local.paths import cluster_paths
from devctl.local.ranges import WantedRanges

if TYPE_CHECKING:
    from ipaddress import IPv4Network


@click.command()
@name_option
@click.option("--nodes", metavar="N", type=int, help="How many nodes, 1 to 4; a new cluster has 2.")
@click.option("--node-range", type=NetworkType(), help="The nodes' addresses, at least a /24.")
@click.option("--pod-range", type=NetworkType(), help="The pods' addresses, at least a /22.")
@click.option(
    "--service-range", type=NetworkType(), help="The services' addresses, at least a /24."
)
@click.option("--merge-kubeconfig", is_flag=True, help="Also add the cluster to ~/.kube/config.")
def up(
    name: str,
    nodes: int | None,
    node_range: IPv4Network | None,
    pod_range: IPv4Network | None,
    service_range: IPv4Network | None,
    *,
    merge_kubeconfig: bool,
) -> None:
    """Create the cluster, or heal it: only what is missing is done.

    \b
    Examples:
      devctl local up
      devctl local up --nodes 3
      devctl local up --name ci --pod-range 198.19.32.0/19
    """
    started = time.monotonic()
    click.echo(f"bringing up local cluster `{name}`")
    settings = bring_up(name, nodes, WantedRanges(node_range, pod_range, service_range))
    paths = cluster_paths(name)
    seconds = time.monotonic() - started
    click.echo(f"cluster `{name}` is up with {settings.node_count} nodes in {seconds:.0f} s")
    if merge_kubeconfig:
        target = Path.home() / ".kube" / "config"
        kubeconfig.merge(paths.kubeconfig, target, f"devctl-local-{name}")
        click.echo(f"context `devctl-local-{name}` added to {target}")
    else:
        click.echo(f"next: export KUBECONFIG={paths.kubeconfig}")
