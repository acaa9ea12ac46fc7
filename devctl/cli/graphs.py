"""The recent past of a value as a small graph in a cell of a table."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from devctl.cli.tables import GAP, Column, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from devctl.client.objects import Snapshot

Seen = TypeVar("Seen")

BLOCKS, ASCII = "▁▂▃▄▅▆▇█", "_.-~+=*#"
"""The lowest value and up to the highest, 1."""
LONGEST = 30
"""Characters of a graph, each of which is a look."""
_ENOUGH = 10
"""Graphs that would be shorter get the room of spare columns."""
_SHORTEST = 4
"""A graph that is shorter says nothing."""


class Graph(NamedTuple):
    """A graph beside a column of a table.

    Attributes:
        beside: The title of the column.
        past: An item's values, the latest last, as parts of what is possible; None if unknown.
    """

    beside: str
    past: Callable[[Any], Sequence[float | None]]


class History:
    """The last values of some measures, look by look."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._past: Mapping[Hashable, tuple[float | None, ...]] = {}

    def note(self, values: Mapping[Hashable, float | None]) -> None:
        """Note a look; what it does not have is forgotten."""
        # A new mapping, since another thread draws the last one.
        self._past = {
            key: (*self._past.get(key, ()), value)[-LONGEST:] for key, value in values.items()
        }

    def of(self, key: Hashable) -> Sequence[float | None]:
        """The values of a measure, the latest last."""
        return self._past.get(key, ())

    def noting(
        self,
        seen: Iterator[Snapshot[Seen]],
        values: Callable[[Sequence[Seen]], Mapping[Hashable, float | None]],
    ) -> Iterator[Snapshot[Seen]]:
        """The same looks, each of which is noted; one that has failed shows nothing new."""
        for look in seen:
            if not look.trouble:
                self.note(values(look.items))
            yield look


def sparkline(past: Sequence[float | None], width: int, levels: str = BLOCKS) -> str:
    """The last values that fit into a width, one character each.

    >>> sparkline([0, 0.5, None, 1, 2], 9)
    '▁▅ ██'
    >>> sparkline([0, 0.5, 1], 2, ASCII)
    '+#'
    """
    top = len(levels) - 1
    return "".join(
        " " if value is None else levels[round(min(max(value, 0.0), 1.0) * top)]
        for value in past[max(0, len(past) - width) :]
    )


def levels_for(stream: Any) -> str:
    """The characters for graphs that a stream can show."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return ASCII
    try:
        BLOCKS.encode(getattr(stream, "encoding", None) or "ascii")
    except (LookupError, UnicodeEncodeError):
        return ASCII
    return BLOCKS


def with_graphs(
    items: Sequence[Any], columns: Sequence[Column], graphs: Sequence[Graph], width: int
) -> Sequence[Column]:
    """Columns with graphs in the room that they leave in lines of a width; none if there is little.

    Spare columns make room for graphs. What is known of no item has no graph.
    """
    wanted = {
        graph.beside: graph
        for graph in graphs
        if any(value is not None for item in items for value in graph.past(item))
    }
    kept = columns
    length = _room(items, kept, len(wanted), width)
    if length < _ENOUGH:
        kept = [column for column in columns if not column.spare]
        length = _room(items, kept, len(wanted), width)
    if length < _SHORTEST:
        return columns
    levels = levels_for(sys.stdout)
    found: list[Column] = []
    for column in kept:
        found.append(column)
        if graph := wanted.get(column.title):
            found.append(_column(graph, length, levels))
    return found


def _room(items: Sequence[Any], columns: Sequence[Column], graphs: int, width: int) -> int:
    """Characters for each graph beside some columns."""
    plain = [column._replace(style=None) for column in columns]
    taken = max(map(len, lines_of(items, plain)))
    return min(LONGEST, (width - taken) // max(1, graphs) - GAP)


def _column(graph: Graph, length: int, levels: str) -> Column:
    return Column("", lambda item: sparkline(graph.past(item), length, levels))
