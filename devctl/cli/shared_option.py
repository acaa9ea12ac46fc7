"""Options that every command has: the program's help explains them, a command's names them."""

from __future__ import annotations

import click


class SharedOption(click.Option):
    """An option whose own line is in the program's help alone."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """What stands in the list of options."""
        return None if _explained(ctx) else super().get_help_record(ctx)


class RareOption(SharedOption):
    """One that a command's help does not name."""


class LastSharedOption(SharedOption):
    """The last of them, whose line in a command's help names them all."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """What stands in the list of options."""
        if not _explained(ctx):
            return super().get_help_record(ctx)
        shared = _shared(ctx.command)
        others = [each for each in shared if each is not self and not isinstance(each, RareOption)]
        names = ", ".join(max(each.opts, key=len) for each in others)
        # So short that it is one line.
        return ", ".join(self.opts), f"Also {names}: `{ctx.find_root().info_name} -h`."


def _shared(command: click.Command) -> list[click.Parameter]:
    return [each for each in command.params if isinstance(each, SharedOption)]


def _explained(ctx: click.Context) -> bool:
    """Whether the help of another command, which is the program, has them."""
    return ctx.parent is not None and bool(_shared(ctx.find_root().command))
