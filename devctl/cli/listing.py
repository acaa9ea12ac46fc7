"""What commands that list objects share: which are listed, in which order, and common columns."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click

from devctl.api.quantities import parse_quantity
from devctl.cli.formats import FORMATS
from devctl.cli.options import output, stacked
from devctl.cli.results import print_items
from devctl.cli.tables import Column
from devctl.cli.times import age
from devctl.client.jsonpath import values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from devctl.client.client import Client
    from devctl.client.objects import Named

    Command = Callable[..., Any]

NAMESPACE = Column("NAMESPACE", lambda item: item.namespace)
AGE = Column(
    "AGE",
    lambda item: age(item.created_at),
    spare=True,
    key=lambda item: -item.created_at.timestamp(),
)

all_namespaces = click.option("-A", "--all-namespaces", is_flag=True, help="In all namespaces.")
selector = click.option(
    "-l", "--selector", metavar="K=V,...", default="", help="Only those with these labels."
)
sort_by = click.option(
    "--sort-by", metavar="KEY", default="", help="A column, or a path such as .spec.flavor."
)
watch_option = click.option("-w", "--watch", is_flag=True, help="Show changes until Ctrl-C.")


class Listing:
    """Which objects a command is to list, and how it prints them.

    `where` is the namespace, None for the command line's; `labels` select objects there.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        resource: str,
        output: str,
        selector: str = "",
        sort_by: str = "",
        *,
        all_namespaces: bool = False,
    ) -> None:
        """Check the options.

        Raises:
            BadParameter: The selector is not valid, or the key is neither a column nor a path.
        """
        from devctl.kube.cluster import EVERYWHERE  # noqa: PLC0415 - heavy

        self.columns = [NAMESPACE, *columns] if all_namespaces else [*columns]
        self.resource, self.output = resource, output
        self.selector, self.labels = selector, labels(selector)
        self.where = EVERYWHERE if all_namespaces else None
        self._key = sorter(sort_by, self.columns) if sort_by else None

    def inside(self, client: Client) -> str:
        """Where nothing was found, for a sentence."""
        return f" in namespace `{client.namespace}`" if self.where is None else ""

    def ordered(self, items: Iterable[Any]) -> Iterable[Any]:
        """Items sorted by `--sort-by`; as they arrive without it."""
        return sorted(items, key=self._key) if self._key else items

    def print(self, items: Iterable[Any], empty: str) -> None:
        """Print items as they arrive; without any, people are told `empty`."""
        print_items(self.ordered(items), self.output, self.columns, self.resource, empty=empty)


_ASKED = ("output", "selector", "sort_by", "all_namespaces")


def lists(columns: Sequence[Column], resource: str, *options: Command) -> Command:
    """Give a command that lists objects these options, `-o`, and the Listing they ask for."""

    def give(command: Command) -> Command:
        @functools.wraps(command)
        def run(*args: Any, **given: Any) -> Any:
            asked = {name: given.pop(name) for name in _ASKED if name in given}
            return command(*args, listing=Listing(columns, resource, **asked), **given)

        return stacked(*options, output(*FORMATS))(run)

    return give


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


def sorter(key: str, columns: Sequence[Column]) -> Callable[[Any], Any]:
    """The sort key of items; those without a value come first, as in kubectl."""
    by = _by_path(key) if key.startswith((".", "{", "[")) else _by_column(key, columns)
    return lambda item: _rank(by(item))


def _by_path(key: str) -> Callable[[Named], object]:
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
