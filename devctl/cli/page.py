"""The page of an object: facts, tables, and its last events."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from devctl.cli.events import COLUMNS as EVENTS
from devctl.cli.facts import fact
from devctl.cli.results import print_document
from devctl.cli.screen import coloured, columns
from devctl.cli.tables import Column, lines_of
from devctl.errors import DeniedError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from devctl.client.events import Event
    from devctl.client.objects import Named

_EVENTS = 8


class Table(NamedTuple):
    """A table of a page; one without items is left out."""

    title: str
    columns: Sequence[Column]
    items: Sequence[Any]


def print_page(
    found: Named,
    output: str,
    facts: Iterable[tuple[str, str]],
    look: Callable[[], Sequence[Event]] = tuple,
    tables: Sequence[Table] = (),
) -> None:
    """Print an object: as a document, or as `text`, a page with its events; see `page`."""
    if output != "text":
        print_document(found.raw, output)
        return
    try:
        events = look()[-_EVENTS:]
    except DeniedError:
        events = ()
    for line in page(facts, events, columns(sys.stdout), tables):
        click.echo(line)


def page(
    facts: Iterable[tuple[str, str]],
    events: Sequence[Event],
    width: int = 0,
    tables: Sequence[Table] = (),
) -> list[str]:
    """The lines of the page of an object, at most `width` long if that is not 0.

    Facts come with labels, which are empty for further lines of a fact; `Phase` starts with the
    phase. Events come oldest first.
    """
    lines = []
    for label, text in facts:
        lines += fact(label, one_line(text), width)
        if label == "Phase":
            phase = text.partition(" ")[0]
            lines[-1] = lines[-1].replace(phase, coloured(phase), 1)
    for each in (*tables, Table("Events", EVENTS, events)):
        if each.items:
            table = lines_of(each.items, each.columns, max(0, width - 2))
            lines += ["", f"{each.title}:", *(f"  {line}" for line in table)]
    return lines
