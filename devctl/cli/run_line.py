"""The command line of `devctl run`: what to run, with which arguments and variables."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from devctl.cli.confirm import somebody_is_here
from devctl.client.runs import command
from devctl.client.runs.command import NAME, check_name
from devctl.errors import NotFoundError, UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from devctl.client.runs.command import Command

_ANY = "devctl.cli.run_line.any"
"""The key in the meta of click's context that says whether any command follows `--`."""


class RunCommand(click.Command):
    """A command that leaves the options of what it runs alone."""

    words = 2
    """The number of words up to what it runs: a server and a script."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what comes before the script's, the module's or the command's own arguments."""
        options = [param for param in self.params if isinstance(param, click.Option)]
        valued = [option for option in options if not option.is_flag and not option.count]
        names = {name for option in valued for name in option.opts}
        line = marked(args, names, self.words)
        ctx.meta[_ANY] = line.any
        return super().parse_args(ctx, line.args)


class SubmitCommand(RunCommand):
    """One that names no server."""

    words = 1


class Line(NamedTuple):
    """A command line with `--` before what is not ours."""

    args: list[str]
    any: bool = False
    """Whether that is a command of any kind."""


def marked(args: Sequence[str], with_values: Container[str], words: int = 2) -> Line:
    """Put `--` behind the server and the script or module: the rest is theirs.

    `with_values` are our options whose value is the next argument; `words` is 1 without a server.

    >>> marked(["-n", "team", "lab", "-d", "train.py", "-d", "x"], {"-n"}).args
    ['-n', 'team', 'lab', '-d', 'train.py', '--', '-d', 'x']
    >>> marked(["lab", "--", "make", "train"], set())
    Line(args=['lab', '--', 'make', 'train'], any=True)
    >>> marked(["--gpus", "2", "train.py", "--gpus", "x"], {"--gpus"}, 1).args
    ['--gpus', '2', 'train.py', '--', '--gpus', 'x']
    """
    module = False
    at = 0
    while at < len(args):
        word = args[at]
        if word == "--":
            return Line(list(args), any=words == 1 and not module)
        if word == "--module" or word.startswith(("--module=", "-m")):
            words, module = words - 1, True
        elif not word.startswith("-") or word == "-":
            words -= 1
        at += 2 if word in with_values else 1
        if not words:
            return Line([*args[:at], "--", *args[at:]])
    return Line(list(args))


def chosen(
    words: Sequence[str], module: str | None, workdir: str | None, *, remote: bool
) -> tuple[Command, Sequence[str]]:
    """What to run, and its arguments: what follows the server's name, or the module of `-m`.

    Raises:
        UsageError: There is nothing to run.
        DevctlError: It does not exist, or its project cannot be sent.
    """
    make = command.remote_command if remote else command.local_command
    if module is not None:
        return make(command.Kind.MODULE, module, workdir), words
    if not words:
        raise UsageError(
            "there is nothing to run", "name a script, a module with -m, or a command after `--`"
        )
    first, *others = words
    if click.get_current_context().meta[_ANY]:
        return make(command.Kind.COMMAND, first, workdir), others
    script = command.remote_script if remote else command.local_script
    return script(first, workdir), others


# Refuses what other readers of such files expand: its meaning would silently differ.
_VALUE = re.compile(
    r"""'(?P<single>[^']*)'|"(?P<double>[^"\\$`]*)"|(?P<plain>(?:(?!\s\#|\$[{(])[^'"`])*)"""
)


def variables(given: Sequence[str], files: Sequence[str], secrets: Sequence[str]) -> dict[str, str]:
    """The variables of `--env-file`, `--env` and `--secret`; the last of a name counts.

    A secret comes from this process's environment; the person is asked for a missing one.

    Raises:
        NotFoundError: There is no such file.
        UsageError: Something is not a variable, or there is no terminal to ask on.
    """
    found: dict[str, str] = {}
    for path in files:
        found |= parse(_read(path), path)
    for word in given:
        name, equals, value = word.partition("=")
        check_name(name)
        if not equals:
            raise UsageError(
                f"--env `{name}` has no value", f"write `{name}=VALUE`, or `--secret {name}`"
            )
        found[name] = value
    for name in secrets:
        if "=" in name:
            raise UsageError(
                f"--secret takes a name only: `{name.partition('=')[0]}`",
                "set it in your environment, or let devctl ask for it",
            )
        check_name(name)
        found[name] = os.environ.get(name) or _asked(name)
    return found


def parse(text: str, path: str = ".env") -> dict[str, str]:
    """The variables of a file.

    A line is NAME=VALUE, with `export` before it or quotes around VALUE if need be. Escapes,
    comments after a value and references to other variables are refused.

    >>> parse("# tokens\\nexport A = 'b c'\\nD=e=f")
    {'A': 'b c', 'D': 'e=f'}

    Raises:
        UsageError: A line is something else.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        name, equals, text_of_it = words.removeprefix("export ").partition("=")
        value = _VALUE.fullmatch(text_of_it.strip())
        if not equals or not value or not NAME.fullmatch(name.strip()):
            # The line is not shown: it may hold a secret.
            raise UsageError(
                f"line {number} of `{readable(path)}` is not a plain NAME=VALUE",
                "use single quotes; escapes, ${...} and comments after a value are not supported",
            )
        found[name.strip()] = value[value.lastgroup or 0]
    return found


def _read(path: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        shown = readable(path)
        raise NotFoundError(f"there is no file `{shown}` here", "check the path") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"`{readable(path)}` is not UTF-8", "name a text file") from error


def _asked(name: str) -> str:
    if not somebody_is_here():
        raise UsageError(
            f"`{name}` is not set, and there is no terminal to ask on",
            f"set `{name}`, and repeat it",
        )
    return str(click.prompt(f"{name}", err=True, hide_input=True))
