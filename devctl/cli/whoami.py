"""`devctl whoami`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import connected, output
from devctl.cli.results import print_document
from devctl.text import one_line

if TYPE_CHECKING:
    from devctl.client.client import Client

_LABEL = 10
"""The width of labels."""


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
    review = client.cluster.review()
    if output != "text":
        print_document(review, output)
        return
    who = review["status"]["userInfo"]
    groups = ", ".join(map(str, who.get("groups") or [])) or "none"
    for label, text in (
        ("User", who.get("username") or "unknown"),
        ("Groups", groups),
        ("Login", client.cluster.method),
    ):
        click.echo(f"{label}:".ljust(_LABEL) + one_line(text))
