"""`devctl jobs`: the group of its commands."""

from __future__ import annotations

import click

from devctl.cli.lazy import Entry, SectionedGroup


@click.group(
    cls=SectionedGroup,
    sections={
        "Commands": {
            "list": Entry("devctl.cli.jobs.show:list_", "List jobs of all kinds"),
            "describe": Entry("devctl.cli.jobs.show:describe", "Show details of a job, and why"),
            "logs": Entry("devctl.cli.jobs.logs:logs", "Print its output"),
            "pull": Entry("devctl.cli.jobs.pull:pull", "Fetch the files that it wrote"),
            "cancel": Entry("devctl.cli.jobs.change:cancel", "Stop it"),
            "retry": Entry("devctl.cli.jobs.change:retry", "Start it again"),
            "delete": Entry("devctl.cli.jobs.change:delete", "Delete it, keep its volume"),
        },
    },
)
def jobs() -> None:
    """GPU workloads and ephemeral jobs, in one place.

    A job is named by NAME, or by KIND/NAME if there is one of each kind.

    \b
    Examples:
      devctl jobs list
      devctl jobs logs -f llama
      devctl jobs cancel gpuworkload/llama
    """
