"""`egpu`: registers its commands; each one is imported only when it is called."""

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
"""Through it the shell's script asks egpu for completions."""


@click.group(
    cls=SectionedGroup,
    sections={
        "Jobs": {
            "create": Entry("devctl.cli.egpu.create:create", "Create a job, with its files"),
            "list": Entry("devctl.cli.egpu.list:list_", "List jobs"),
            "get": Entry("devctl.cli.egpu.get:get", "Show all about one"),
            "watch": Entry("devctl.cli.egpu.watch:watch", "Wait for its end, and say why"),
            "logs": Entry("devctl.cli.egpu.logs:logs", "Print what it prints"),
            "delete": Entry("devctl.cli.egpu.delete:delete", "Delete it, keep its volume"),
        },
        "Files of a job": {
            "copy-file": Entry("devctl.cli.egpu.copy_file:copy_file", "Put a URL on its volume"),
            "artifacts": Entry("devctl.cli.egpu.artifacts:artifacts", "List or fetch its files"),
            "debug": Entry("devctl.cli.egpu.debug:debug", "Open a shell on its volume"),
            "cleanup": Entry("devctl.cli.egpu.cleanup:cleanup", "Delete volumes past their time"),
        },
        "Set up": {
            "completion": Entry("devctl.cli.egpu.completion:completion", "Complete in a shell"),
        },
    },
    hidden={},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@where
@verbose
@click.version_option(package_name="devctl")
def egpu() -> None:
    """Ephemeral GPU jobs: a pod that goes and a volume that stays for its time.

    \b
    Examples:
      egpu create my-job --project-dir ./my-code --input-path /artifacts/image.jpg
      egpu watch my-job
      egpu artifacts my-job --to results
    """


def main() -> None:
    """Run the command line; never returns."""
    require_posix("egpu")
    # Pods that a command has made are to go with it.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    run_program(egpu, "egpu", VARIABLE)


def _end(number: int, _frame: object) -> NoReturn:
    sys.exit(128 + number)
