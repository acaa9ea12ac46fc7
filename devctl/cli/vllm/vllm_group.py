"""`k8shazgpu vllm` and `devctl vllm`: the group of their commands."""

from __future__ import annotations

import click

from devctl.cli.lazy import Entry, SectionedGroup


@click.group(
    cls=SectionedGroup,
    sections={
        "Commands": {
            "run": Entry("devctl.cli.vllm.run:run", "Run a program with GPUs"),
            "replay": Entry("devctl.cli.vllm.replay:replay", "Run the same again"),
            "list": Entry("devctl.cli.vllm.show:list_", "List runs"),
            "describe": Entry("devctl.cli.vllm.show:describe", "Show details of a run, and why"),
            "logs": Entry("devctl.cli.vllm.show:logs", "Print its output"),
            "status": Entry("devctl.cli.vllm.status:status", "Show who has which GPU"),
            "cleanup": Entry("devctl.cli.vllm.cleanup:cleanup", "Delete runs, free their GPUs"),
        },
    },
)
def vllm() -> None:
    """Programs such as `vllm serve`, each on GPUs that a ResourceClaim holds.

    \b
    Examples:
      k8shazgpu vllm run --name my-demo -- vllm serve facebook/opt-125m
      k8shazgpu vllm logs -f my-demo
      k8shazgpu cleanup --name my-demo
    """
