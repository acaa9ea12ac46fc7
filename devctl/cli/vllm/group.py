"""`k8shazgpu`: registers its commands; each is imported only when it is called."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from devctl.__main__ import require_posix
from devctl.cli.lazy import Entry, SectionedGroup
from devctl.cli.options import where
from devctl.cli.shared_options import verbose

PROGRAM = "k8shazgpu"
VARIABLE = "_K8SHAZGPU_COMPLETE"
"""The environment variable through which a shell's script asks for completions."""


@click.group(
    cls=SectionedGroup,
    sections={
        "Runs": {
            "status": Entry("devctl.cli.vllm.status:status", "Show who has which GPU"),
            "vllm": Entry("devctl.cli.vllm.vllm_group:vllm", "Run vLLM, and look at runs"),
            "cleanup": Entry("devctl.cli.vllm.cleanup:cleanup", "Delete runs, free their GPUs"),
        },
        "Caches": {
            "cache": Entry("devctl.cli.vllm.cache_group:cache", "What nodes are to have ready"),
        },
        "Set up": {
            "completion": Entry("devctl.cli.vllm.group:completion", "Print shell completion")
        },
    },
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@where
@verbose
@click.version_option(package_name="devctl")
def k8shazgpu() -> None:
    """Run vLLM on GPUs that a ResourceClaim holds, and say what nodes are to have ready for it.

    \b
    Examples:
      k8shazgpu status
      k8shazgpu vllm run --name my-demo -- vllm serve facebook/opt-125m
      k8shazgpu cleanup --name my-demo
    """


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands, options and names from the cluster.

    \b
    Examples:
      echo 'source <(k8shazgpu completion bash)' >> ~/.bashrc
      k8shazgpu completion fish > ~/.config/fish/completions/k8shazgpu.fish
    """
    from devctl.cli.completion import script  # noqa: PLC0415 - only this needs it

    click.echo(script(shell, k8shazgpu, PROGRAM, VARIABLE))


def main() -> NoReturn:
    """Run the command line; never returns."""
    require_posix(PROGRAM)
    try:
        # Imported here so that Ctrl-C is as silent while modules load as it is later.
        from devctl.cli.program import run_program  # noqa: PLC0415

        run_program(k8shazgpu, PROGRAM, VARIABLE)
    except KeyboardInterrupt:
        sys.exit(130)
