"""Selectors: the objects with some labels, as `-l` names them."""

from __future__ import annotations

from typing import Any

import click

selector = click.option(
    "-l", "--selector", metavar="K=V,...", default="", help="Only those with these labels."
)


def labels(selector: str) -> dict[str, Any] | None:
    """What a selector asks for; None where it asks for nothing.

    A label with several values may have any of them, one with None must only be there.

    >>> labels("app=web,tier")
    {'app': 'web', 'tier': None}

    Raises:
        BadParameter: It cannot be read.
    """
    found: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in selector.split(","))):
        name, equals, value = part.replace("==", "=", 1).partition("=")
        if not name or "!" in part or " " in part or "=" in value:
            raise click.BadParameter(f"`{part}` is not a label: write `NAME=VALUE` or `NAME`")
        found[name] = value if equals else None
    return found or None
