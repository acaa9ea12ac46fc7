"""`egpu`: registers its commands; each is imported only when it is called."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

import click

from devctl.__main__ import require_posix
from devctl.cli.lazy import Entry, SectionedGroup
from devctl.cli.options import where
from devctl.cli.program import run_program
from devctl.cli.shared_options import verbose

VARIABLE = "_EGPU_COMPLETE"
"""The environment variable through which a shell's script asks for completions."""


@click.group(
    cls=SectionedGroup,
    sections={
        "Jobs": {
            "create": Entry("devctl.cli.egpu.create:create", "Create a job, with its files"),
            "list": Entry("devctl.cli.egpu.show:list_", "List jobs"),
            "get": Entry("devctl.cli.egpu.show:get", "Show details of a job"),
            "watch": Entry("devctl.cli.egpu.show:watch", "Wait for its end, and say why"),
            "logs": Entry("devctl.cli.egpu.show:logs", "Print its output"),
            "delete": Entry("devctl.cli.egpu.delete:delete", "Delete it, but keep its volume"),
        },
        "Files of a job": {
            "copy-file": Entry("devctl.cli.egpu.files:copy_file", "Copy a URL to its volume"),
            "artifacts": Entry("devctl.cli.egpu.files:artifacts", "List or download its files"),
            "debug": Entry("devctl.cli.egpu.files:debug", "Open a shell with its volume"),
            "cleanup": Entry("devctl.cli.egpu.delete:cleanup", "Delete expired volumes"),
        },
        "Set up": {
            "completion": Entry("devctl.cli.egpu.group:completion", "Print shell completion")
        },
    },
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@where
@verbose
@click.version_option(package_name="devctl")
def egpu() -> None:
    """Ephemeral GPU jobs: a pod removed after it ends, and a volume kept longer.

    \b
    Examples:
      egpu create my-job --project-dir ./my-code --input-path /artifacts/image.jpg
      egpu watch my-job
      egpu artifacts my-job --to results
    """


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands, options and names from the cluster.

    \b
    Examples:
      echo 'source <(egpu completion bash)' >> ~/.bashrc
      egpu completion fish > ~/.config/fish/completions/egpu.fish
    """
    from devctl.cli.completion import script  # noqa: PLC0415 - only this needs it

    click.echo(script(shell, egpu, "egpu", VARIABLE))


def main() -> NoReturn:
    """Run the command line; never returns."""
    require_posix("egpu")
    # Exit in order, so that the pods that a command has created are deleted.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    run_program(egpu, "egpu", VARIABLE)


def _end(number: int, _frame: object) -> NoReturn:
    sys.exit(128 + number)
