"""The entry point of `devctl`: turns errors into two lines and an exit code."""

from __future__ import annotations

import os
import sys
import traceback

import click

from devctl.cli.main import cli
from devctl.errors import DevctlError


def main() -> None:
    """Run the command line; never returns."""
    try:
        code = cli.main(prog_name="devctl", standalone_mode=False)
    except DevctlError as error:
        for line in error.lines():
            click.echo(line, err=True)
        if os.environ.get("DEVCTL_TRACEBACK"):
            traceback.print_exc()
        code = error.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:
        # The reader has gone; closing standard output again at exit must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code or 0)


if __name__ == "__main__":
    main()
