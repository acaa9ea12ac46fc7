"""Options that every command has: the program's help explains them, a command's names them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

_META = "devctl.cli.shared_options"
_TRACEBACK = 2
_asked = 0


class SharedOption(click.Option):
    """An option that only the program's help explains; a command's last names the others."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option's line in help."""
        root = ctx.find_root()
        if ctx is root or not _shared(root.command):
            return super().get_help_record(ctx)
        *others, last = _shared(ctx.command)
        if self is not last:
            return None
        named = [max(each.opts, key=len) for each in others if not isinstance(each, RareOption)]
        if not named:
            return super().get_help_record(ctx)
        # Short enough for one line.
        return ", ".join(self.opts), f"Also {', '.join(named)}: `{root.info_name} -h`."


class RareOption(SharedOption):
    """One that a command's help does not even name."""


def _shared(command: click.Command) -> list[click.Parameter]:
    return [each for each in command.params if isinstance(each, SharedOption)]


def verbose(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `-v`: requests to the cluster; `-vv`: tracebacks. It adds to its group's."""
    option = click.option(
        "-v",
        "--verbose",
        cls=SharedOption,
        count=True,
        expose_value=False,
        callback=_keep,
        help="Show requests; -vv: also tracebacks.",
    )
    return option(command)


def wants_traceback() -> bool:
    """Whether an error is to be followed by its traceback."""
    return _asked >= _TRACEBACK or bool(os.environ.get("DEVCTL_TRACEBACK"))


def _keep(context: click.Context, _option: click.Parameter, count: int) -> None:
    global _asked  # noqa: PLW0603 - there is no context any more when an error is printed
    context.meta[_META] = context.meta.get(_META, 0) + count
    _asked = context.meta[_META]
    if count:
        import logging  # noqa: PLC0415 - rarely used

        logging.basicConfig(format="%(message)s")
        logging.getLogger("httpx2").setLevel(logging.INFO)
