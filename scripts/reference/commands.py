"""Pages on commands, made from click's own objects: they say what `--help` says."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import cleandoc
from textwrap import dedent
from typing import TYPE_CHECKING

import click
from reference import rst

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_AS_IS = "\b"
"""Click's mark for a paragraph that is not to be wrapped."""


@dataclass(frozen=True)
class Page:
    """One command.

    Attributes:
        path: What a person types, such as `devctl homes list`.
        short: One line about it.
        body: Its usage, description, options and commands, without a title.
        depth: How many commands it lies below the program.
    """

    path: str
    short: str
    body: str
    depth: int

    @property
    def name(self) -> str:
        """Its page's name, such as `devctl-homes-list`."""
        return self.path.replace(" ", "-")


def pages(program: click.Command, name: str, without: Collection[str] = ()) -> Iterator[Page]:
    """The page of a program, and those of all of its commands in the order of its help.

    Args:
        program: Its click object.
        name: What a person types.
        without: Commands right below the program that are left out.
    """
    yield from _below(
        click.Context(program, info_name=name, **program.context_settings), without, 0
    )


def _below(context: click.Context, without: Collection[str], depth: int) -> Iterator[Page]:
    command = context.command
    commands = list(_commands(context, without))
    yield Page(context.command_path, _short(command), _body(context, commands), depth)
    for name, found in commands:
        below = click.Context(found, info_name=name, parent=context, **found.context_settings)
        yield from _below(below, (), depth + 1)


def _commands(
    context: click.Context, without: Collection[str]
) -> Iterator[tuple[str, click.Command]]:
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            found = group.get_command(context, name)
            if found and name not in without:
                yield name, found


def _short(command: click.Command) -> str:
    first = " ".join(_paragraphs(command)[0].split())
    return first.partition(". ")[0].rstrip(".")


def _paragraphs(command: click.Command) -> list[str]:
    return cleandoc(command.help or "").split("\n\n")


def _body(context: click.Context, commands: list[tuple[str, click.Command]]) -> str:
    command = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    options = [record for one in command.get_params(context) if (record := _record(one, context))]
    parts = [rst.block(usage), _description(command)]
    if options:
        parts += [rst.title("Options", "-"), *(_option(*record) for record in options)]
    if commands:
        parts.append(rst.title("Commands", "-"))
        for name, found in commands:
            path = f"{context.command_path} {name}"
            parts.append(rst.definition(rst.literal(path), rst.text(_short(found))))
    return "\n".join(parts)


def _record(parameter: click.Parameter, context: click.Context) -> tuple[str, str] | None:
    """The names of an option and what it does; arguments stand in the usage."""
    return parameter.get_help_record(context) if isinstance(parameter, click.Option) else None


def _option(names: str, meaning: str) -> str:
    return rst.definition(rst.literal(names), rst.text(meaning))


def _description(command: click.Command) -> str:
    parts = []
    for paragraph in _paragraphs(command):
        if not paragraph.startswith(_AS_IS):
            parts.append(f"{rst.text(paragraph)}\n")
            continue
        heading, _, lines = paragraph.removeprefix(_AS_IS).lstrip("\n").partition("\n")
        if heading.endswith(":") and lines:
            parts += [rst.title(heading.rstrip(":"), "-"), rst.block(dedent(lines))]
        else:
            parts.append(rst.block(dedent(f"{heading}\n{lines}")))
    return "\n".join(parts)
