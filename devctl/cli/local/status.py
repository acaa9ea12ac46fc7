"""`devctl local status` and `devctl local logs`."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import click

from devctl.cli.local.group import name_option, suffix
from devctl.cli.tables import table
from devctl.errors import NotFoundError
from devctl.local.cluster import existing
from devctl.local.paths import cache_paths
from devctl.local.status import read_status

if TYPE_CHECKING:
    from devctl.local.status import ClusterStatus


@click.command()
@name_option
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Output format.",
)
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
    if found.parts:
        lines += [f"parts: {', '.join(found.parts)}"]
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


@click.command()
@click.argument("log", required=False)
@name_option
@click.option("-f", "--follow", is_flag=True, help="Keep printing what is added.")
@click.option("--tail", metavar="N", default=50, show_default=True, help="Only the last N lines.")
def logs(log: str | None, name: str, *, follow: bool, tail: int) -> None:
    """Show a log of the cluster; without LOG, list the logs.

    \b
    Examples:
      devctl local logs
      devctl local logs kubelet-devctl-1 -f
    """
    _, paths = existing(name)
    files = {file.stem: file for file in sorted(paths.logs.glob("*.log"))}
    if log is None:
        for stem, file in files.items():
            click.echo(f"{stem:<28}{file.stat().st_size:>10} bytes")
        return
    if log not in files:
        raise NotFoundError(f"there is no log `{log}`", "list them with `devctl local logs`")
    follow_option = ["--follow"] if follow else []
    subprocess.run(["tail", f"--lines={tail}", *follow_option, "--", files[log]], check=False)
