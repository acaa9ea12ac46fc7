"""What commands print: tables for people, documents for programs."""

from __future__ import annotations

import json
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from devctl.cli.formats import JSONPATH, is_document
from devctl.cli.layout import lines_of
from devctl.cli.screen import columns as terminal_columns
from devctl.cli.screen import is_terminal
from devctl.cli.times import age, left, span, until
from devctl.text import one_line, readable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

__all__ = [
    "FORMATS",
    "Column",
    "age",
    "left",
    "print_document",
    "print_item",
    "print_items",
    "print_list",
    "span",
    "table",
    "table_of",
    "until",
]

FORMATS = ("table", "wide", "json", "yaml", "name")


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        title: What stands above it.
        value: What an item has in it.
        wide: Whether it is only in `-o wide`.
        style: What is done to a cell's text for the screen, for example a colour.
        spare: Whether it is left out where a line has no room for all.
        key: What a list is sorted by, where that is not what the column shows.
    """

    title: str
    value: Callable[[Any], object]
    wide: bool = False
    style: Callable[[str], str] | None = None
    spare: bool = False
    key: Callable[[Any], object] | None = None


def print_items(
    items: Iterable[Any],
    output: str,
    columns: Sequence[Column],
    resource: str,
    *,
    raw: Callable[[Any], object] = lambda item: item.raw,
    empty: str,
) -> None:
    """Print items in a format.

    Args:
        items: Are asked for while they are printed.
        output: One of FORMATS, or `jsonpath=` and a template.
        columns: Of the table.
        resource: What `-o name` puts before a name.
        raw: An item as a document.
        empty: What is said of no items, where a person reads.
    """
    if is_document(output):
        print_list([raw(item) for item in items], output)
        return
    if output == "name":
        for item in items:
            click.echo(f"{resource}/{one_line(item.name)}")
        return
    shown = [column for column in columns if output == "wide" or not column.wide]
    rest = iter(items)
    first = next(rest, None)
    if first is None:
        click.echo(empty, err=True)
        return
    width = 0 if output == "wide" else terminal_columns(sys.stdout)
    for line in _lines(chain([first], rest), shown, width):
        click.echo(line)


def print_item(item: Any, output: str, resource: str) -> None:
    """Print one object: `name`, a document, or what a `jsonpath=` makes of it, on a line."""
    if output == "name":
        click.echo(f"{resource}/{one_line(item.name)}")
        return
    if output == "yaml":
        click.echo("---")
    print_document(item.raw, output)


def print_list(documents: Iterable[object], output: str) -> None:
    """Print documents as one: a List, as `kubectl get` has it."""
    found = [_published(document) for document in documents]
    print_document({"apiVersion": "v1", "kind": "List", "items": found}, output)


def print_document(document: object, output: str) -> None:
    """Print a document as `json` or `yaml`, or what a `jsonpath=` makes of it."""
    document = _published(document)
    if output.startswith(JSONPATH):
        from devctl.client.jsonpath import Template  # noqa: PLC0415 - few ask for it

        escape = readable if is_terminal(sys.stdout) else str
        text = Template(output.removeprefix(JSONPATH)).render(document, escape)
        click.echo(text, nl=is_terminal(sys.stdout) and not text.endswith("\n"))
        return
    if output == "json":
        click.echo(_shown(lambda plain: json.dumps(document, indent=2, ensure_ascii=plain)))
        return
    import yaml  # noqa: PLC0415 - few ask for it

    text = _shown(lambda plain: yaml.safe_dump(document, sort_keys=False, allow_unicode=not plain))
    click.echo(text, nl=False)


def _shown(dump: Callable[[bool], str]) -> str:
    """A document as a terminal may get it: where need be, all that is not ASCII is escaped."""
    text = dump(False)  # noqa: FBT003 - not ASCII alone
    return text if text.replace("\n", "").isprintable() else dump(True)  # noqa: FBT003


def _published(document: object) -> object:
    """An object without the API server's notes on who has set which field."""
    if not isinstance(document, dict) or "managedFields" not in (document.get("metadata") or {}):
        return document
    meta = {name: text for name, text in document["metadata"].items() if name != "managedFields"}
    return document | {"metadata": meta}


def table(
    titles: Sequence[object],
    rows: Iterable[Sequence[object]],
    width: int = 0,
    spare: Collection[int] = (),
) -> list[str]:
    """The lines of a table.

    Args:
        titles: What stands above the columns.
        rows: The cells below; None is an empty one.
        width: How many characters a line may have; 0 for as many as it needs.
        spare: Which columns are left out where a line has no room for all, by number.

    >>> table(["NAME", "AGE"], [["lab", "5m"], ["training", None]])
    ['NAME      AGE', 'lab       5m', 'training']
    """
    return list(lines_of(list(map(str, titles)), rows, [None] * len(titles), width, spare))


def table_of(items: Iterable[Any], columns: Sequence[Column], width: int = 0) -> list[str]:
    """The lines of a table of items, styled for the screen."""
    return list(_lines(items, columns, width))


def _lines(items: Iterable[Any], columns: Sequence[Column], width: int) -> Iterator[str]:
    return lines_of(
        [column.title for column in columns],
        ([column.value(item) for column in columns] for item in items),
        [column.style for column in columns],
        width,
        [number for number, column in enumerate(columns) if column.spare],
    )
