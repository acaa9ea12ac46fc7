"""`devctl whoami`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli.options import connected, output
from devctl.cli.results import print_document
from devctl.cli.screen import columns
from devctl.text import one_line

if TYPE_CHECKING:
    from devctl.client.client import Client


@click.command()
@output("text", "json", "yaml")
@connected
def whoami(client: Client, output: str) -> None:
    """Show your user name and groups, as the API server sees them, and how you log in.

    \b
    Examples:
      devctl whoami
      devctl whoami -o json
    """
    from devctl.cli.describe import fact  # noqa: PLC0415 - not for --help

    review = client.cluster.review()
    if output != "text":
        print_document(review, output)
        return
    who = review["status"]["userInfo"]
    groups = ", ".join(map(str, who.get("groups") or [])) or "none"
    width = columns(sys.stdout)
    for label, text in (
        ("User", who.get("username") or "unknown"),
        ("Groups", groups),
        ("Login", client.cluster.method),
    ):
        for line in fact(label, one_line(text), width):
            click.echo(line)
