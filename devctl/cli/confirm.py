"""Asking a person before something is destroyed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.errors import UsageError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from devctl.client.client import Client
    from devctl.client.servers import Server

_SHOWN = 10
"""How many names are shown."""


yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


def answers(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that deletes data what answers its question beforehand.

    `--confirm=NAME`, for scripts that would rather have the name checked, is in no help.
    """
    named = click.option("--confirm", multiple=True, metavar="NAME", hidden=True)
    return yes_option(named(command))


def confirm_names(
    names: Sequence[str], given: Sequence[str], what: str, *, yes: bool = False
) -> None:
    """Have a person type the names of what is destroyed.

    Args:
        names: What is destroyed.
        given: The values of --confirm; where there are none, the person is asked, if there is one.
        what: What happens to it, as a sentence.
        yes: Whether --yes has answered already.

    Raises:
        UsageError: They named something else, or nobody can be asked.
    """
    if yes and not given:
        return
    line = " ".join(f"--confirm={name}" for name in names)
    if not given:
        if not somebody_is_here():
            raise UsageError(
                f"{what}; nobody is here to be asked", f"repeat it with --yes, or with `{line}`"
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
    """Have a person agree to what a sync is about to delete here.

    Args:
        names: The files.
        given: Whether they have said so already, with --yes.

    Returns:
        Whether they agree; False where nobody can be asked.
    """
    from devctl.text import readable  # noqa: PLC0415 - heavy

    if given or not somebody_is_here():
        return given
    for name in names[:_SHOWN]:
        click.echo(f"  - {readable(name)}", err=True)
    if len(names) > _SHOWN:
        click.echo(f"  … and {len(names) - _SHOWN:,} more", err=True)
    what = "this file" if len(names) == 1 else f"these {len(names):,} files"
    return click.confirm(f"Delete {what} here, as they are gone in the server?", err=True)


def confirm_ending(client: Client, servers: Sequence[Server], *, yes: bool) -> None:
    """Ask before sessions and runs end; where nobody can be asked, or nothing goes on, go on.

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
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()
