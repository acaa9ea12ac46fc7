"""What commands print: tables for people, documents for programs."""

from __future__ import annotations

import json
import sys
import textwrap
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from devctl.cli.screen import clipped, printable
from devctl.cli.screen import columns as terminal_columns
from devctl.cli.times import age, left, span, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = [
    "FORMATS",
    "Column",
    "age",
    "left",
    "print_document",
    "print_items",
    "printable",
    "span",
    "table",
    "table_of",
    "until",
]

FORMATS = ("table", "wide", "json", "yaml", "name")

_BATCH = 500
"""Rows that are measured together: the first page is on the screen while the next is fetched."""
_GAP = 2
_NARROWEST = 6
_READABLE = 16
"""The width from which on a sentence is folded, and not cut."""


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        title: What stands above it.
        value: What an item has in it.
        wide: Whether it is only in `-o wide`.
        style: What is done to a cell's text for the screen, for example a colour.
    """

    title: str
    value: Callable[[Any], object]
    wide: bool = False
    style: Callable[[str], str] | None = None


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
        output: One of FORMATS.
        columns: Of the table.
        resource: What `-o name` puts before a name.
        raw: An item as a document.
        empty: What is said of no items, where a person reads.
    """
    if output in {"json", "yaml"}:
        found = [raw(item) for item in items]
        print_document({"apiVersion": "v1", "kind": "List", "items": found}, output)
        return
    if output == "name":
        for item in items:
            click.echo(f"{resource}/{item.name}")
        return
    shown = [column for column in columns if output == "wide" or not column.wide]
    rows = iter([column.value(item) for column in shown] for item in items)
    first = next(rows, None)
    if first is None:
        click.echo(empty, err=True)
        return
    width = 0 if output == "wide" else terminal_columns(sys.stdout)
    for line in _lines(
        [column.title for column in shown],
        chain([first], rows),
        [column.style for column in shown],
        width,
    ):
        click.echo(line)


def print_document(document: object, output: str) -> None:
    """Print a document as `json` or `yaml`."""
    if output == "json":
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    import yaml  # noqa: PLC0415 - few ask for it

    click.echo(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), nl=False)


def table(titles: Sequence[object], rows: Iterable[Sequence[object]], width: int = 0) -> list[str]:
    """The lines of a table.

    Args:
        titles: What stands above the columns.
        rows: The cells below; None is an empty one.
        width: How many characters a line may have; 0 for as many as it needs.

    >>> table(["NAME", "AGE"], [["lab", "5m"], ["training", None]])
    ['NAME      AGE', 'lab       5m', 'training']
    """
    return list(_lines(list(map(str, titles)), rows, [None] * len(titles), width))


def table_of(items: Iterable[Any], columns: Sequence[Column], width: int = 0) -> list[str]:
    """The lines of a table of items, styled for the screen."""
    shown = [column for column in columns if not column.wide]
    rows = ([column.value(item) for column in shown] for item in items)
    titles, styles = [column.title for column in shown], [column.style for column in shown]
    return list(_lines(titles, rows, styles, width))


def _lines(
    titles: Sequence[str],
    rows: Iterable[Sequence[object]],
    styles: Sequence[Callable[[str], str] | None],
    width: int,
) -> Iterator[str]:
    rest, widths = iter(rows), [len(title) for title in titles]
    plain = [None] * len(titles)
    head = list(titles)
    while batch := [[_cell(value) for value in row] for row in islice(rest, _BATCH)]:
        widths = [max(old, *map(len, cells)) for old, *cells in zip(widths, *batch, strict=True)]
        fitting = _fit(widths, width)
        if head:
            yield _line(head, fitting, plain)
            head = []
        for row in batch:
            *cells, last = row
            first, *more = _folded(last, fitting[-1])
            yield _line([*cells, first], fitting, styles)
            for text in more:
                yield _line([*([""] * len(cells)), text], fitting, plain)
    if head:
        yield _line(head, widths, plain)


def _folded(text: str, width: int) -> list[str]:
    """The lines of the last cell of a row, which is a sentence where it is long."""
    if len(text) <= width or width < _READABLE:
        return [text]
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def _line(
    cells: Sequence[str],
    widths: Sequence[int],
    styles: Sequence[Callable[[str], str] | None],
) -> str:
    done = []
    for text, wide, style in zip(cells, widths, styles, strict=True):
        cut = clipped(text, wide)
        space = " " * (wide - len(cut) + _GAP)
        done.append((style(cut) if style else cut) + space)
    return "".join(done).rstrip()


def _fit(widths: Sequence[int], width: int) -> list[int]:
    """Widths of columns, the widest but the first made narrower until a line fits.

    The first holds names, which people copy.
    """
    fitting = list(widths)
    over = sum(fitting) + _GAP * (len(fitting) - 1) - width if width else 0
    while over > 0:
        widest = max(range(1, len(fitting)), key=fitting.__getitem__, default=0)
        if not widest or fitting[widest] <= _NARROWEST:
            break
        fitting[widest] -= 1
        over -= 1
    return fitting


def _cell(value: object) -> str:
    return "" if value is None else printable(value)
