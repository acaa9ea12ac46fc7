"""All commands of all programs, with what `--help` of each prints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import click
from click.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = 80
HIDDEN = ("ssh-proxy", "credential")
"""Commands of `devctl` that only programs call."""


@dataclass(frozen=True)
class Shown:
    """A command and its help.

    Attributes:
        line: What a person types, such as `devctl jobs list`.
        command: The command itself.
        context: The context in which it would be called.
    """

    line: str
    command: click.Command
    context: click.Context

    @cached_property
    def help(self) -> str:
        """What `--help` prints on a screen of 80 columns."""
        program, *words = self.line.split()
        root = self.context.find_root().command
        result = CliRunner().invoke(
            root, [*words, "--help"], prog_name=program, terminal_width=COLUMNS
        )
        assert result.exit_code == 0, self.line
        return result.output

    @property
    def options(self) -> list[click.Option]:
        """The options that people use, in help's order."""
        found = self.command.get_params(self.context)
        return [each for each in found if isinstance(each, click.Option) and not each.hidden]

    @property
    def arguments(self) -> list[click.Argument]:
        """Words without a dash, in their order."""
        return [each for each in self.command.params if isinstance(each, click.Argument)]


def every_command() -> Iterator[Shown]:
    """Commands of `devctl`, `egpu` and `k8shazgpu`, each after its group."""
    # Imported here: all commands together take a while, and not every test process asks.
    from devctl.cli.egpu.group import egpu  # noqa: PLC0415
    from devctl.cli.main import cli  # noqa: PLC0415
    from devctl.cli.vllm.group import k8shazgpu  # noqa: PLC0415

    for name, program in {"devctl": cli, "egpu": egpu, "k8shazgpu": k8shazgpu}.items():
        yield from _below(name, program, click.Context(program, info_name=name))


def _below(line: str, command: click.Command, context: click.Context) -> Iterator[Shown]:
    """A command, and those of a group."""
    yield Shown(line, command, context)
    if isinstance(command, click.Group):
        for name in (*command.list_commands(context), *HIDDEN):
            child = command.get_command(context, name)
            if child:
                inner = click.Context(child, info_name=name, parent=context)
                yield from _below(f"{line} {name}", child, inner)
