"""Asking a person before something is destroyed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


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


def _somebody_is_here() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
