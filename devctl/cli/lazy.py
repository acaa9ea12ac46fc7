"""A command group that imports a command only when it is used, so that `--help` stays fast."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.exceptions import Exit

from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from click.shell_completion import CompletionItem

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


class Entry(NamedTuple):
    """A command to import when it is used, and its line in the help of its group."""

    path: str
    """`module:attribute`."""
    help: str


class SectionedGroup(click.Group):
    """A group whose commands stand under headings."""

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Mapping[str, Entry]] | None = None,
        hidden: Mapping[str, Entry] | None = None,
        **kwargs: Any,
    ) -> None:
        """Take commands by heading and name; only programs call the hidden ones."""
        super().__init__(*args, **kwargs)
        self._shown: dict[str, Entry] = {}
        self._sections = sections or {"Commands": self._shown}
        for part in self._sections.values():
            self._shown.update(part)
        self._all = {**(hidden or {}), **self._shown}

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command of the group's own module; its short help is its line in help."""
        super().add_command(cmd, name)
        self._shown[name or str(cmd.name)] = Entry("", cmd.short_help or "")

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names that help shows, in the order given."""
        return list(self._shown)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is none of that name."""
        entry = self._all.get(cmd_name)
        if entry is None:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = entry.path.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called.

        Raises:
            UsageError: There is no such command; the fix names one that is spelled alike.
        """
        name = args[0]
        if self.get_command(ctx, name) or ctx.resilient_parsing or name.startswith("-"):
            return super().resolve_command(ctx, args)
        path = ctx.command_path
        close = get_close_matches(name, self._shown, n=1)
        raise UsageError(
            f"there is no command `{path} {name}`",
            f"did you mean `{path} {close[0]}`?" if close else f"see `{path} --help`",
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and exit silently on Ctrl-C."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            if sys.stderr.isatty():
                # Keeps the shell's prompt off the line with the terminal's `^C`.
                click.echo(err=True)
            raise Exit(INTERRUPTED) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the sections, with names of one width."""
        width = max(map(len, self._shown), default=0)
        for title, commands in self._sections.items():
            with formatter.section(title):
                rows = [(name.ljust(width), entry.help) for name, entry in commands.items()]
                formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands and options without importing a command."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only this needs it

        commands = [
            CompletionItem(name, help=entry.help)
            for name, entry in self._shown.items()
            if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)
