"""The options `--shared` and `--shared-class` of users and teams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import stacked

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def shared_options(whose: str) -> Callable[[Any], Any]:
    """The options; `whose` completes the help: a volume for ..."""
    return stacked(
        click.option("--shared", metavar="SIZE", help=f"Size of a volume for {whose}."),
        click.option("--shared-class", metavar="CLASS", help="Storage class of that volume."),
    )


def shared_storage(size: str | None, class_: str | None) -> dict[str, str]:
    """What the options say; empty without a size.

    Raises:
        BadParameter: A class is named for no volume.
    """
    if class_ and not size:
        raise click.BadParameter("name a size with --shared", param_hint="'--shared-class'")
    if not size:
        return {}
    return {"size": size, **({"storageClassName": class_} if class_ else {})}
