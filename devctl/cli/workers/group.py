"""`devctl workers`: the group of its commands."""

from __future__ import annotations

import click

from devctl.cli.lazy import Entry, SectionedGroup


@click.group(
    cls=SectionedGroup,
    sections={
        "Commands": {
            "nodes": Entry("devctl.cli.workers.nodes:nodes", "List nodes, or where a job fits"),
            "submit": Entry("devctl.cli.workers.submit:submit", "Run an image as a job"),
            "jobs": Entry("devctl.cli.workers.jobs:jobs", "List your jobs"),
            "show": Entry("devctl.cli.workers.show:show", "Show details of a job, and why"),
            "logs": Entry("devctl.cli.workers.logs:logs", "Print its output"),
            "artifacts": Entry("devctl.cli.workers.artifacts:artifacts", "List its files"),
            "pull": Entry("devctl.cli.workers.artifacts:pull", "Fetch its files"),
            "cancel": Entry("devctl.cli.workers.cancel:cancel", "End jobs"),
            "delete": Entry("devctl.cli.workers.delete:delete", "Take jobs out of the list"),
            "cost": Entry("devctl.cli.workers.cost:cost", "Show what a job or a month costs"),
            "keys": Entry("devctl.cli.workers.keys:keys", "Make and end API keys"),
        },
    },
)
def workers() -> None:
    """Jobs on GPU nodes over HTTP, billed by the second: the GPU workers API.

    DEVCTL_WORKERS_URL and DEVCTL_WORKERS_TOKEN, or the settings workers_url and workers_token, say
    where it is and who you are; it needs no kubeconfig.

    \b
    Examples:
      devctl workers submit pytorch/pytorch --gpu-memory 8Gi --input @in.json
      devctl workers logs -f JOB
    """
