"""Asking a person before something is destroyed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli.options import stacked
from devctl.errors import UsageError
from devctl.text import one_line, readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.servers import Server

_SHOWN = 10
"""How many names to show."""

yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


answers = stacked(yes_option, click.option("--confirm", multiple=True, metavar="NAME", hidden=True))
"""For a command that deletes data: `--confirm=NAME` is for scripts that want the name checked."""


def confirm_names(
    names: Sequence[str], given: Sequence[str], what: str, *, yes: bool = False
) -> None:
    """Have a person type the names of what is destroyed, unless --yes or --confirm gives them.

    `what` says what happens.

    Raises:
        UsageError: Another name was given, or there is no terminal to ask on.
    """
    if yes and not given:
        return
    line = " ".join(f"--confirm={name}" for name in names)
    if not given:
        if not somebody_is_here():
            raise UsageError(
                f"{what}; there is no terminal to ask on", f"repeat it with --yes, or with `{line}`"
            )
        click.echo(what, err=True)
        given = [
            str(click.prompt(f"Type `{name}` to confirm", err=True, default="", show_default=False))
            for name in names
        ]
    if missing := [name for name in names if name not in given]:
        raise UsageError(
            f"`{missing[0]}` was not confirmed: nothing was deleted", f"repeat it with `{line}`"
        )


def confirm_deletion(names: Sequence[str], *, given: bool) -> bool:
    """Whether a sync may delete files here: if --yes was given, else if a person agrees."""
    if given or not somebody_is_here():
        return given
    for name in names[:_SHOWN]:
        click.echo(f"  - {readable(name)}", err=True)
    if len(names) > _SHOWN:
        click.echo(f"  … and {len(names) - _SHOWN:,} more", err=True)
    what = "this file" if len(names) == 1 else f"these {len(names):,} files"
    return click.confirm(f"Delete {what} here, as on the server?", err=True)


def confirm_ending(client: Client, servers: Sequence[Server], *, yes: bool) -> None:
    """Ask before sessions and runs end, on a terminal.

    Raises:
        Abort: The person said no.
    """
    if yes or not somebody_is_here():
        return
    from devctl.client.monitor import activity  # noqa: PLC0415 - heavy

    for server in servers:
        if ending := activity(client, server):
            what = f"This ends {', '.join(map(one_line, ending))} on `{server.name}`. Continue?"
            click.confirm(what, default=False, abort=True, err=True)


def somebody_is_here() -> bool:
    """Whether there is a person to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()
