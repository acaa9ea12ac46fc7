"""`devctl local logs`."""

from __future__ import annotations

import subprocess

import click

from devctl.cli.local.group import name_option
from devctl.errors import NotFoundError
from devctl.local.cluster import existing


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
