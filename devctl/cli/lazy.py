"""A command group that imports a command only when it is used: `--help` stays fast."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.exceptions import Exit

from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from click.shell_completion import CompletionItem


INTERRUPTED = 130
"""The exit code where a person has pressed Ctrl-C."""


class Entry(NamedTuple):
    """A command that is imported when it is used.

    Attributes:
        path: Where it is: `module:attribute`.
        help: What its group's help says of it.
    """

    path: str
    help: str


class SectionedGroup(click.Group):
    """A group of commands under headings."""

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Mapping[str, Entry]],
        hidden: Mapping[str, Entry] | None = None,
        **kwargs: Any,
    ) -> None:
        """Keep the entries; nothing is imported yet.

        Args:
            args: As for click's group.
            sections: Commands by name, under their headings.
            hidden: Commands that programs call, and no person.
            kwargs: As for click's group.
        """
        super().__init__(*args, **kwargs)
        self._sections = sections
        self._shown = {name: entry for part in sections.values() for name, entry in part.items()}
        self._hidden = dict(hidden or {})

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names that a person may type, in the order in which they were given."""
        return list(self._shown)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command; None where there is none of that name."""
        entry = self._shown.get(cmd_name) or self._hidden.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.path.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant.

        Raises:
            UsageError: There is none of that name; it says which one is close.
        """
        name = args[0]
        known = name in self._shown or name in self._hidden
        if known or ctx.resilient_parsing or name.startswith("-"):
            return super().resolve_command(ctx, args)
        path = ctx.command_path
        close = get_close_matches(name, self._shown, n=1)
        raise UsageError(
            f"there is no command `{path} {name}`",
            f"did you mean `{path} {close[0]}`?" if close else f"see `{path} --help`",
        )

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the command line."""
        with _interruptible():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with _interruptible():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the sections, all with one width for the names."""
        width = max(map(len, self._shown), default=0)
        for title, commands in self._sections.items():
            with formatter.section(title):
                rows = [(name.ljust(width), entry.help) for name, entry in commands.items()]
                formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names of commands and options that begin so; no command is imported for it."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only this needs it

        commands = [
            CompletionItem(name, help=entry.help)
            for name, entry in self._shown.items()
            if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Have Ctrl-C end the program without words; click would add a line to what was printed."""
    try:
        yield
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            # The shell's prompt is not to stand behind the terminal's `^C`.
            click.echo(err=True)
        raise Exit(INTERRUPTED) from None
