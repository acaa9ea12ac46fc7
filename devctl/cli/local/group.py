"""`devctl local`: registers its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.checkout import has_local_cluster, require_local_cluster
from devctl.cli.lazy import Entry, SectionedGroup

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LocalGroup(SectionedGroup):
    """Commands that only a checkout has."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line.

        Raises:
            HostError: The local cluster is not part of this installation.
        """
        if not ctx.resilient_parsing:
            require_local_cluster()
        return super().parse_args(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None where completion asks for what is not installed."""
        if ctx.resilient_parsing and not has_local_cluster():
            return None
        return super().get_command(ctx, cmd_name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Nothing where there is nothing to run."""
        return super().shell_complete(ctx, incomplete) if has_local_cluster() else []


@click.group(
    cls=LocalGroup,
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
