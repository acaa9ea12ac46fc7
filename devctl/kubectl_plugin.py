"""`devctl` as a plugin of kubectl: `kubectl devctl`, and what kubectl asks to complete it."""

from __future__ import annotations

import sys
from typing import NoReturn

PROGRAM = "kubectl devctl"

_DEFAULT, _NO_FILES = 0, 4
"""What kubectl's shells do with the answer: file names too, or only what is listed."""


def main() -> NoReturn:
    """Run the command line as `kubectl-devctl`; never returns."""
    from devctl.__main__ import main as run  # noqa: PLC0415 - so that Ctrl-C is silent

    run(PROGRAM)


def complete() -> None:
    """Answer kubectl, which runs `kubectl_complete-devctl ARGS... INCOMPLETE`."""
    try:
        for line in answer(sys.argv[1:]):
            print(line)  # noqa: T201 - this is what kubectl reads
    except KeyboardInterrupt:
        sys.exit(130)


def answer(arguments: list[str]) -> list[str]:
    """The completions of the last argument, each with a tab and its description, and a number.

    The arguments are what was typed after `kubectl devctl`.
    """
    from click.shell_completion import ShellComplete  # noqa: PLC0415 - only this needs it

    from devctl.cli.main import VARIABLE, cli  # noqa: PLC0415

    *before, begun = arguments or [""]
    found = ShellComplete(cli, {}, PROGRAM, VARIABLE).get_completions(before, begun)
    plain = [item for item in found if item.type == "plain"]
    lines = [f"{item.value}\t{item.help}" if item.help else item.value for item in plain]
    return [*lines, f":{_NO_FILES if len(plain) == len(found) else _DEFAULT}"]
