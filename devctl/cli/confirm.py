"""Asking a person before something is destroyed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOWN = 10
"""How many names are shown."""


def confirm_names(names: Sequence[str], given: Sequence[str], what: str) -> None:
    """Have a person name once more what is destroyed.

    Args:
        names: What is destroyed.
        given: The values of --confirm; where there are none, the person is asked, if there is one.
        what: What happens to it, as a sentence.

    Raises:
        UsageError: They named something else, or nobody can be asked.
    """
    line = " ".join(f"--confirm={name}" for name in names)
    if not given:
        if not _somebody_is_here():
            raise UsageError(f"{what}; nobody is here to be asked", f"repeat it with `{line}`")
        click.echo(what, err=True)
        given = [
            str(click.prompt(f"Type `{name}` to go on", err=True, default="", show_default=False))
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
        given: Whether they have said so already, with --confirm.

    Returns:
        Whether they agree; False where nobody can be asked.
    """
    from devctl.client.files.names import readable  # noqa: PLC0415 - heavy

    if given or not _somebody_is_here():
        return given
    for name in names[:_SHOWN]:
        click.echo(f"  - {readable(name)}", err=True)
    if len(names) > _SHOWN:
        click.echo(f"  … and {len(names) - _SHOWN:,} more", err=True)
    what = "this file" if len(names) == 1 else f"these {len(names):,} files"
    return click.confirm(f"Delete {what} here, as they are gone in the server?", err=True)


def _somebody_is_here() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
