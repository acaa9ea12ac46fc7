"""`devctl local`: the group of its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.checkout import has_local_cluster, require_local_cluster
from devctl.cli.lazy import Entry, SectionedGroup

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

name_option = click.option(
    "--name",
    metavar="NAME",
    default="devctl",
    show_default=True,
    envvar="DEVCTL_LOCAL_NAME",
    help="Which local cluster.",
)


def suffix(name: str) -> str:
    """What a command to recommend ends with, to mean this cluster."""
    return "" if name == "devctl" else f" --name {name}"


class LocalGroup(SectionedGroup):
    """Commands that only a checkout has."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line.

        Raises:
            HostError: This installation has no local cluster.
        """
        if not ctx.resilient_parsing:
            require_local_cluster()
        return super().parse_args(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if completion asks for one that is not installed."""
        if ctx.resilient_parsing and not has_local_cluster():
            return None
        return super().get_command(ctx, cmd_name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands, unless they are not installed."""
        return super().shell_complete(ctx, incomplete) if has_local_cluster() else []


@click.group(
    cls=LocalGroup,
    sections={
        "Commands": {
            "up": Entry("devctl.cli.local.lifecycle:up", "Create, start or repair the cluster"),
            "down": Entry("devctl.cli.local.lifecycle:down", "Stop it; its data is kept"),
            "status": Entry("devctl.cli.local.status:status", "Show what runs and what is wrong"),
            "reset": Entry("devctl.cli.local.lifecycle:reset", "Stop it and delete its data"),
            "logs": Entry("devctl.cli.local.status:logs", "Show the logs of its processes"),
            "load": Entry("devctl.cli.local.lifecycle:load", "Load an image into every node"),
            "token": Entry("devctl.cli.local.token:token", "Print a token of the GPU workers API"),
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
