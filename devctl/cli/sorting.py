"""`--sort-by`: the order of a list, by a column or by a path as kubectl takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from devctl.api.quantities import parse_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from devctl.cli.tables import Column
    from devctl.client.objects import Named

sort_by = click.option(
    "--sort-by", metavar="KEY", default="", help="A column, or a path such as .spec.flavor."
)
"""The order in which a command lists."""


def ordered(items: Iterable[Any], key: str, columns: Sequence[Column]) -> Iterable[Any]:
    """Items in the order that was asked for; as they come where none was.

    Raises:
        BadParameter: The key is neither a column nor a path.
    """
    if not key:
        return items
    return sorted(items, key=sorter(key, columns))


def sorter(key: str, columns: Sequence[Column]) -> Callable[[Any], Any]:
    """What items are compared by; those without a value come first, as with kubectl."""
    by = _by_path(key) if key.startswith((".", "{", "[")) else _by_column(key, columns)
    return lambda item: _rank(by(item))


def _by_path(key: str) -> Callable[[Named], object]:
    from devctl.client.jsonpath import values  # noqa: PLC0415 - few ask for it

    find = values(key)
    return lambda item: next(iter(find(item.raw)), None)


def _by_column(key: str, columns: Sequence[Column]) -> Callable[[Any], object]:
    wanted = key.upper().replace("-", " ").replace("_", " ")
    for column in columns:
        if column.title == wanted:
            return column.key or column.value
    titles = ", ".join(column.title.lower() for column in columns)
    raise click.BadParameter(
        f"`{key}` is not a column; use a path such as `.metadata.name`, or one of: {titles}",
        param_hint="'--sort-by'",
    )


def _rank(value: object) -> tuple[int, float, str]:
    """What makes values comparable: nothing, then numbers and quantities, then text."""
    if value is None or value == "":
        return (0, 0.0, "")
    text = str(value)
    try:
        return (1, float(parse_quantity(text)), text)
    except ValueError:
        return (2, 0.0, text)
