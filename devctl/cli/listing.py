"""What commands that list objects share: which are listed, in which order, and common columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from devctl.api.quantities import parse_quantity
from devctl.cli.tables import Column
from devctl.cli.times import age

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from devctl.client.objects import Named

NAMESPACE = Column("NAMESPACE", lambda item: item.namespace)
AGE = Column(
    "AGE",
    lambda item: age(item.created_at),
    spare=True,
    key=lambda item: -item.created_at.timestamp(),
)

selector = click.option(
    "-l", "--selector", metavar="K=V,...", default="", help="Only those with these labels."
)
sort_by = click.option(
    "--sort-by", metavar="KEY", default="", help="A column, or a path such as .spec.flavor."
)


def scope(columns: Sequence[Column], *, all_namespaces: bool) -> tuple[str | None, list[Column]]:
    """The namespace to list, None for the command line's, and the columns to show."""
    from devctl.kube.cluster import EVERYWHERE  # noqa: PLC0415 - heavy

    return (EVERYWHERE, [NAMESPACE, *columns]) if all_namespaces else (None, [*columns])


def labels(selector: str) -> dict[str, Any] | None:
    """The labels that a selector asks for, None as a value for any; None if it asks for none.

    >>> labels("app=web,tier")
    {'app': 'web', 'tier': None}

    Raises:
        BadParameter: The selector is not valid.
    """
    found: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in selector.split(","))):
        name, equals, value = part.replace("==", "=", 1).partition("=")
        if not name or "!" in part or " " in part or "=" in value:
            raise click.BadParameter(f"`{part}` is not a label: write `NAME=VALUE` or `NAME`")
        found[name] = value if equals else None
    return found or None


def ordered(items: Iterable[Any], key: str, columns: Sequence[Column]) -> Iterable[Any]:
    """Items sorted by `--sort-by`; as they arrive without it.

    Raises:
        BadParameter: The key is neither a column nor a path.
    """
    return sorted(items, key=sorter(key, columns)) if key else items


def sorter(key: str, columns: Sequence[Column]) -> Callable[[Any], Any]:
    """The sort key of items; those without a value come first, as in kubectl."""
    by = _by_path(key) if key.startswith((".", "{", "[")) else _by_column(key, columns)
    return lambda item: _rank(by(item))


def _by_path(key: str) -> Callable[[Named], object]:
    from devctl.client.jsonpath import values  # noqa: PLC0415 - rarely used

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
    """Makes values comparable: missing ones, then numbers and quantities, then text."""
    if value is None or value == "":
        return (0, 0.0, "")
    text = str(value)
    try:
        return (1, float(parse_quantity(text)), text)
    except ValueError:
        return (2, 0.0, text)
