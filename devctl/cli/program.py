"""Running a command line: errors become two lines and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from io import TextIOWrapper
from typing import NoReturn

import click

from devctl.cli.lazy import INTERRUPTED
from devctl.cli.shared_options import wants_traceback
from devctl.errors import DevctlError
from devctl.text import readable


def run_program(group: click.Command, program: str, variable: str) -> NoReturn:
    """Run this process's command line; never returns.

    Help calls it `program`, as typed. Shells ask for completions through an environment variable.
    """
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal's encoding lacks must not end a command.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if variable in os.environ:
        from devctl.cli.completion import register  # noqa: PLC0415 - only completion needs it

        register()
    sys.exit(_code(group, program, variable))


def _code(group: click.Command, program: str, variable: str) -> int:  # noqa: PLR0911 - one per error
    try:
        code = group.main(prog_name=program, standalone_mode=False, complete_var=variable)
        sys.stdout.flush()
    except DevctlError as error:
        _say(error.lines())
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        # The bare name asks what it can do, which is not an error.
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        _say(_lines(error, program))
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone; flushing standard output again at exit must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        words = error.strerror or str(error) or type(error).__name__
        where = f": `{error.filename}`" if error.filename else ""
        _say([f"error: {words}{where}", "  fix: fix this locally and retry"])
        return 1
    except Exception as error:  # noqa: BLE001 - any error ends in two lines
        name = program.rpartition(" ")[2]
        words = " ".join(f"{type(error).__name__}: {error}".split())
        fix = f"-vv shows the traceback; report it if this is a bug in {name}"
        _say([f"error: {words}", f"  fix: {fix}"])
        return 1
    return code or 0


def _lines(error: click.ClickException, program: str) -> list[str]:
    """A mistake that click found in the command line, in the form of our own errors."""
    message = error.format_message().rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    fix = f"see `{context.command_path if context else program} --help`"
    if isinstance(error, click.NoSuchOption):
        message = f"there is no option `{error.option_name}`"
        if error.possibilities:
            fix = f"did you mean `{min(error.possibilities)}`? S{fix[1:]}"
    return [f"error: {message[:1].lower()}{message[1:]}", f"  fix: {fix}"]


def _say(lines: list[str]) -> None:
    # Click's messages may have several lines.
    for part in (part for line in lines for part in line.split("\n")):
        click.echo(readable(part.expandtabs()), err=True)
    if wants_traceback():
        traceback.print_exc()
