"""Tables that fit the terminal as well as they can."""

from __future__ import annotations

import textwrap
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.cli.screen import clipped
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    Style = Callable[[str], str] | None

_BATCH = 500
"""Rows measured together: the first page is on the screen while the next is fetched."""
GAP = 2
"""Spaces between two columns."""
_NARROWEST = 6
_FAIR = 12
"""The width below which a cell says so little that a column is rather left out."""
_READABLE = 30
"""The width from which a sentence reads well beside other cells."""
_SENTENCES = {"MESSAGE", "COMMAND"}
"""The titles of columns of sentences."""
_INDENT = "  "
"""Of a sentence below its row."""


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        title: Its heading.
        value: An item's cell.
        wide: Whether only `-o wide` shows it.
        style: Applied to a cell for the screen, such as a colour.
        spare: Whether it is left out if lines are too short for all.
        key: What lists are sorted by, if not by the cell.
    """

    title: str
    value: Callable[[Any], object]
    wide: bool = False
    style: Callable[[str], str] | None = None
    spare: bool = False
    key: Callable[[Any], object] | None = None


def table(
    titles: Sequence[str],
    rows: Iterable[Sequence[object]],
    width: int = 0,
    spare: Collection[int] = (),
) -> list[str]:
    """The lines of a table of cells; `spare` are the numbers of its spare columns.

    >>> table(["NAME", "AGE"], [["lab", "5m"], ["training", None]])
    ['NAME      AGE', 'lab       5m', 'training']
    """
    columns = [
        Column(title, itemgetter(number), spare=number in spare)
        for number, title in enumerate(titles)
    ]
    return list(lines_of(rows, columns, width))


def lines_of(
    items: Iterable[Any], columns: Sequence[Column], width: int = 0, *, wide: bool = False
) -> Iterator[str]:
    """The lines of a table of items, while they arrive; styled for the screen.

    If lines are too short, spare columns are left out, empty ones first; then a sentence at the
    end of a row is folded or moved below it; at last cells are cut.

    Args:
        items: What each row is about.
        columns: Their values are the cells; None is an empty one.
        width: Characters per line; 0 for any number.
        wide: Whether to show wide columns too, in lines of any length.
    """
    if wide:
        width = 0
    else:
        columns = [column for column in columns if not column.wide]
    rest, widths = iter(items), [len(column.title) for column in columns]
    titles, styles = [column.title for column in columns], [column.style for column in columns]
    spare = [number for number, column in enumerate(columns) if column.spare]
    shown: Sequence[int] | None = None
    below = False
    while batch := [[_cell(each.value(item)) for each in columns] for item in islice(rest, _BATCH)]:
        widths = [max(old, *map(len, cells)) for old, *cells in zip(widths, *batch, strict=True)]
        first = shown is None
        if shown is None:
            empty = [not any(cells) for cells in zip(*batch, strict=True)]
            order = sorted(spare, key=lambda number: (not empty[number], -number))
            shown, below = _planned(widths, width, order, sentence=titles[-1] in _SENTENCES)
        fitting = _fit([widths[number] for number in shown], width)
        if first:
            yield _line([titles[number] for number in shown], fitting)
        shown_styles = [styles[number] for number in shown]
        for row in batch:
            cells = [row[number] for number in shown]
            if below:
                yield _line(cells, fitting, shown_styles)
                text = _folded(row[-1], width - len(_INDENT))
                yield from (f"{_INDENT}{line}" for line in text if line)
            else:
                *others, last = cells
                start, *more = _folded(last, fitting[-1])
                yield _line([*others, start], fitting, shown_styles)
                yield from (_line([*([""] * len(others)), text], fitting) for text in more)
    if shown is None:
        yield _line(titles, widths)


def _planned(
    widths: Sequence[int], width: int, spare: Sequence[int], *, sentence: bool
) -> tuple[Sequence[int], bool]:
    """Which columns to show, and whether the last is a sentence to put below each row."""
    shown = list(range(len(widths)))
    if not width:
        return shown, False
    readable = min(_READABLE, width // 2)
    wide = sentence and widths[-1] > readable
    below = wide and _room([widths[number] for number in shown[:-1]], width) < readable
    if below:
        shown.pop()
    for number in spare:
        fair = [min(widths[n], _FAIR) if n else widths[n] for n in shown]
        if _room(fair, width) >= -GAP:
            break
        shown.remove(number)
    return shown, below


def _room(widths: Sequence[int], width: int) -> int:
    """The room for one more cell."""
    return width - sum(widths) - GAP * len(widths)


def folded(text: str, width: int) -> list[str]:
    """A text in lines of a width; 0 for any."""
    if not width or len(text) <= width:
        return [text]
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def _folded(text: str, width: int) -> list[str]:
    return folded(text, width if width >= _FAIR else 0)


def _line(cells: Sequence[str], widths: Sequence[int], styles: Sequence[Style] = ()) -> str:
    done = []
    for text, wide, style in zip(cells, widths, styles or [None] * len(cells), strict=True):
        cut = clipped(text, wide)
        space = " " * (wide - len(cut) + GAP)
        done.append((style(cut) if style else cut) + space)
    return "".join(done).rstrip()


def _fit(widths: Sequence[int], width: int) -> list[int]:
    """Narrow the widest columns until a line fits; never the first, whose names are copied."""
    fitting = list(widths)
    over = -GAP - _room(fitting, width) if width else 0
    while over > 0:
        widest = max(range(1, len(fitting)), key=fitting.__getitem__, default=0)
        if not widest or fitting[widest] <= _NARROWEST:
            break
        fitting[widest] -= 1
        over -= 1
    return fitting


def _cell(value: object) -> str:
    return "" if value is None else one_line(value)
