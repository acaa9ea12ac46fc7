"""Running a command line: errors become two lines and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from io import TextIOWrapper
from typing import TYPE_CHECKING, NoReturn

import click

from devctl.cli.lazy import INTERRUPTED
from devctl.cli.verbosity import wants_traceback
from devctl.errors import DevctlError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Callable


def run_program(group: click.Command, program: str, variable: str) -> NoReturn:
    """Run the command line of this process.

    Args:
        group: Its commands.
        program: What the person has typed, for help.
        variable: Through it a shell's script asks for completions.
    """
    for stream in (sys.stdout, sys.stderr):
        # What the terminal's encoding lacks is shown escaped, and ends no command.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if variable in os.environ:
        from devctl.cli.shells import register  # noqa: PLC0415 - only completion needs it

        register()
    sys.exit(
        _code(
            lambda: group.main(prog_name=program, standalone_mode=False, complete_var=variable),
            program,
        )
    )


def _code(run: Callable[[], int | None], program: str) -> int:  # noqa: PLR0911 - one an error
    try:
        code = run() or 0
        sys.stdout.flush()
    except DevctlError as error:
        _say(error.lines())
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        # Somebody who types the name alone wants to know what it can do.
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        _say(_lines(error, program))
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone; closing standard output again at exit must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        _say([f"error: {_reason(error)}", "  fix: fix this locally and retry"])
        return 1
    except Exception as error:  # noqa: BLE001 - whatever it is, a person gets two lines
        name = program.rpartition(" ")[2]
        words = " ".join(f"{type(error).__name__}: {error}".split())
        _say(
            [
                f"error: {words}",
                f"  fix: -vv shows where it came from; report it if {name} is to blame",
            ]
        )
        return 1
    return code


def _lines(error: click.ClickException, program: str) -> list[str]:
    """What click found wrong in the command line, in the way of all other errors."""
    message = error.format_message().rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else program
    close = error.possibilities if isinstance(error, click.NoSuchOption) else None
    if isinstance(error, click.NoSuchOption):
        message = f"there is no option `{error.option_name}`"
    fix = f"did you mean `{min(close)}`? See `{path} --help`" if close else ""
    return [
        f"error: {message[:1].lower()}{message[1:]}",
        f"  fix: {fix or f'see `{path} --help`'}",
    ]


def _reason(error: OSError) -> str:
    """What this machine could not do, in one line."""
    words = error.strerror or str(error) or type(error).__name__
    return f"{words}: `{error.filename}`" if error.filename else words


def _say(lines: list[str]) -> None:
    # What click says may be several lines.
    for part in (part for line in lines for part in line.split("\n")):
        click.echo(readable(part.expandtabs()), err=True)
    if wants_traceback():
        traceback.print_exc()
