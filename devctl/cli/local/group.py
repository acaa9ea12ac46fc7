"""`devctl local`: registers its commands."""

from __future__ import annotations

import click

from devctl.cli.lazy import Entry, SectionedGroup


@click.group(
    cls=SectionedGroup,
    sections={
        "Commands": {
            "up": Entry("devctl.cli.local.up:up", "Create the cluster, or heal it"),
            "down": Entry("devctl.cli.local.down:down", "Take it down; its data stays"),
            "status": Entry("devctl.cli.local.status:status", "Say what runs and what is wrong"),
            "reset": Entry("devctl.cli.local.reset:reset", "Take it down and delete its data"),
            "logs": Entry("devctl.cli.local.logs:logs", "Show what its processes say"),
            "load": Entry("devctl.cli.local.load:load", "Bring an image into every node"),
        },
    },
)
def local() -> None:
    """A real Kubernetes on this machine, for trying things out and for tests.

    \b
    Examples:
      devctl local up
      devctl local status
      devctl local down
    """
