"""The command line of `devctl run`: where ours ends, and that of what is run begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from devctl.client.runs.command import Command

_MODULE = ("-m", "--module")
_ANY = "devctl.cli.run_line.any"
"""Where click keeps that a command of any kind follows `--`."""


class RunCommand(click.Command):
    """A command that takes the options of what it runs for those of that."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line; what follows the script, the module or `--` is left alone."""
        line = marked(args, self._with_values())
        ctx.meta[_ANY] = line.any
        return super().parse_args(ctx, line.args)

    def _with_values(self) -> set[str]:
        options = [param for param in self.params if isinstance(param, click.Option)]
        valued = [option for option in options if not option.is_flag and not option.count]
        return {name for option in valued for name in option.opts}


class Line(NamedTuple):
    """A command line of ours.

    Attributes:
        args: It, with `--` before what is not ours.
        any: Whether that is a command of any kind.
    """

    args: list[str]
    any: bool = False


def marked(args: Sequence[str], with_values: Container[str]) -> Line:
    """A command line with `--` behind the server and the script or module: the rest is theirs.

    Args:
        args: The command line.
        with_values: Options of ours whose value is the next argument.

    >>> marked(["-n", "team", "lab", "-d", "train.py", "-d", "x"], {"-n"}).args
    ['-n', 'team', 'lab', '-d', 'train.py', '--', '-d', 'x']
    >>> marked(["lab", "--", "make", "train"], set())
    Line(args=['lab', '--', 'make', 'train'], any=True)
    """
    words, module = 2, False
    at = 0
    while at < len(args):
        word = args[at]
        if word == "--":
            return Line(list(args), any=words == 1 and not module)
        if _names_module(word):
            words, module = words - 1, True
        elif not word.startswith("-") or word == "-":
            words -= 1
        at += 2 if word in with_values else 1
        if not words:
            return Line([*args[:at], "--", *args[at:]])
    return Line(list(args))


def _names_module(word: str) -> bool:
    """Whether a word is `-m`, also together with its value."""
    return word in _MODULE or word.startswith(("--module=", "-m"))


def chosen(
    words: Sequence[str], module: str | None, workdir: str | None, *, remote: bool
) -> tuple[Command, Sequence[str]]:
    """What a command line asks to run, and the arguments of that.

    Args:
        words: What follows the server's name.
        module: The value of `-m`.
        workdir: That of `--workdir`.
        remote: Whether it is on the server already.

    Raises:
        UsageError: It asks for nothing.
        DevctlError: There is no such thing, or its project cannot go along.
    """
    from devctl.client.runs import command  # noqa: PLC0415 - heavy

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
