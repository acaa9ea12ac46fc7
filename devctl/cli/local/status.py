"""`devctl local status`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from devctl.cli.local.group import name_option, suffix
from devctl.cli.tables import table
from devctl.local.cluster import existing
from devctl.local.paths import cache_paths
from devctl.local.status import read_status

if TYPE_CHECKING:
    from devctl.local.status import ClusterStatus


@click.command()
@name_option
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table")
def status(name: str, output: str) -> None:
    """Show whether the cluster is up, and what is wrong if it is not.

    The exit code is 0 if it is up, else 1.

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
        _print(found)
    if found.state != "up":
        raise SystemExit(1)


def _print(found: ClusterStatus) -> None:
    lines = [f"cluster `{found.name}` is {found.state}"]
    lines += [f"  {problem}" for problem in found.problems]
    nodes = [
        (node["name"], "yes" if node["ready"] else "no", node["address"], node["version"])
        for node in found.nodes
    ]
    processes = [
        (each["name"], each["state"].lower(), each["pid"], f"{each['uptime_seconds']} s")
        for each in found.processes
    ]
    for titles, rows in (
        (("NODE", "READY", "ADDRESS", "VERSION"), nodes),
        (("PROCESS", "STATE", "PID", "UP"), processes),
    ):
        if rows:
            lines += ["", *table(titles, rows)]
    if found.state == "up":
        lines += ["", f"next: export KUBECONFIG={found.kubeconfig}"]
    else:
        lines += ["", f"next: devctl local up{suffix(found.name)}"]
    click.echo("\n".join(lines))
