"""A command group that imports a command only when it is used: `--help` stays fast."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Mapping


class LazyGroup(click.Group):
    """A group whose commands are given as `module:attribute`."""

    def __init__(self, *args: Any, commands_by_path: Mapping[str, str], **kwargs: Any) -> None:
        """Keep the paths; nothing is imported yet."""
        super().__init__(*args, **kwargs)
        self._paths = commands_by_path

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names, in the order in which they were given."""
        return list(self._paths)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command; None where there is none of that name."""
        path = self._paths.get(cmd_name)
        if path is None:
            return None
        module, _, attribute = path.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command
