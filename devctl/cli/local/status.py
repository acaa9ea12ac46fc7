"""`devctl local status`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from devctl.cli.local.options import name_option
from devctl.local.cluster import existing
from devctl.local.paths import cache_paths
from devctl.local.status import read_status

if TYPE_CHECKING:
    from devctl.local.status import ClusterStatus


@click.command()
@name_option
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table")
def status(name: str, output: str) -> None:
    """Say whether the cluster is up, and what is wrong where it is not.

    Exit code 0 if it is up, 1 if not.

    \b
    Examples:
      devctl local status
      devctl local status -o json
    """
    settings, paths = existing(name)
    found = read_status(settings, paths, cache_paths())
    if output == "json":
        click.echo(json.dumps(found.to_json(), indent=2))
    else:
        _print_table(found)
    if found.state != "up":
        raise SystemExit(1)


def _print_table(found: ClusterStatus) -> None:
    click.echo(f"cluster `{found.name}` is {found.state}")
    for problem in found.problems:
        click.echo(f"  {problem}")
    if found.nodes:
        click.echo(f"\n{'NODE':<24}{'READY':<8}{'ADDRESS':<18}VERSION")
    for node in found.nodes:
        ready = "yes" if node["ready"] else "no"
        click.echo(f"{node['name']:<24}{ready:<8}{node['address']:<18}{node['version']}")
    if found.processes:
        click.echo(f"\n{'PROCESS':<28}{'STATE':<12}{'PID':<9}UP")
    for process in found.processes:
        uptime = f"{process['uptime_seconds']} s"
        click.echo(
            f"{process['name']:<28}{process['state'].lower():<12}{process['pid']:<9}{uptime}"
        )
    suffix = "" if found.name == "devctl" else f" --name {found.name}"
    if found.state == "up":
        click.echo(f"\nnext: export KUBECONFIG={found.kubeconfig}")
    else:
        click.echo(f"\nnext: devctl local up{suffix}")
