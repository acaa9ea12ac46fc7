"""Rows of cells as lines, which fit the terminal as well as they can."""

from __future__ import annotations

import textwrap
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from devctl.cli.screen import clipped
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    Style = Callable[[str], str] | None

_BATCH = 500
"""Rows that are measured together: the first page is on the screen while the next is fetched."""
_GAP = 2
_NARROWEST = 6
_FAIR = 12
"""The width below which a cell says so little that a column is rather left out."""
_READABLE = 30
"""The width from which on a sentence is easy to read beside other cells."""
_SENTENCES = {"MESSAGE", "COMMAND"}
"""What stands above columns of sentences."""
_INDENT = "  "
"""Of a sentence below its row."""


class _Plan(NamedTuple):
    """What is shown.

    Attributes:
        columns: Which columns stand beside each other.
        below: Whether the last one of all is a sentence that stands below each row.
    """

    columns: Sequence[int]
    below: bool


def lines_of(
    titles: Sequence[str],
    rows: Iterable[Sequence[object]],
    styles: Sequence[Style],
    width: int,
    spare: Collection[int] = (),
) -> Iterator[str]:
    """The lines of a table.

    Where a line has too little room, columns that can be spared are left out, empty ones first, a
    sentence at the end of a row is folded or goes below it, and at last cells are cut.

    Args:
        titles: What stands above the columns.
        rows: The cells below; None is an empty one.
        styles: What is done to each column's cells for the screen.
        width: How many characters a line may have; 0 for as many as it needs.
        spare: Which columns can be spared, by number.
    """
    rest, widths = iter(rows), [len(title) for title in titles]
    plan: _Plan | None = None
    while batch := [[_cell(value) for value in row] for row in islice(rest, _BATCH)]:
        widths = [max(old, *map(len, cells)) for old, *cells in zip(widths, *batch, strict=True)]
        first = plan is None
        if plan is None:
            empty = [not any(cells) for cells in zip(*batch, strict=True)]
            order = sorted(spare, key=lambda number: (not empty[number], -number))
            plan = _planned(widths, width, order, sentence=titles[-1] in _SENTENCES)
        fitting = _fit([widths[number] for number in plan.columns], width)
        if first:
            yield _line([titles[number] for number in plan.columns], fitting)
        shown = [styles[number] for number in plan.columns]
        for row in batch:
            cells = [row[number] for number in plan.columns]
            if plan.below:
                yield _line(cells, fitting, shown)
                text = _folded(row[-1], width - len(_INDENT))
                yield from (f"{_INDENT}{line}" for line in text if line)
            else:
                yield from _row(cells, fitting, shown)
    if plan is None:
        yield _line(titles, widths)


def _planned(widths: Sequence[int], width: int, spare: Sequence[int], *, sentence: bool) -> _Plan:
    """What is shown of columns of these widths; those that can be spared go in their order."""
    shown = list(range(len(widths)))
    if not width:
        return _Plan(shown, below=False)
    readable = min(_READABLE, width // 2)
    wide = sentence and widths[-1] > readable
    below = wide and _room([widths[number] for number in shown[:-1]], width) < readable
    if below:
        shown.pop()
    for number in spare:
        fair = [min(widths[n], _FAIR) if n else widths[n] for n in shown]
        if _room(fair, width) >= -_GAP:
            break
        shown.remove(number)
    return _Plan(shown, below)


def _room(widths: Sequence[int], width: int) -> int:
    """What is left of a line for one more cell."""
    return width - sum(widths) - _GAP * len(widths)


def _row(cells: Sequence[str], widths: Sequence[int], styles: Sequence[Style]) -> Iterator[str]:
    """The lines of a row; its last cell is a sentence where it is long."""
    *others, last = cells
    first, *more = _folded(last, widths[-1])
    yield _line([*others, first], widths, styles)
    for text in more:
        yield _line([*([""] * len(others)), text], widths)


def _folded(text: str, width: int) -> list[str]:
    if len(text) <= width or width < _FAIR:
        return [text]
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def _line(cells: Sequence[str], widths: Sequence[int], styles: Sequence[Style] = ()) -> str:
    done = []
    for text, wide, style in zip(cells, widths, styles or [None] * len(cells), strict=True):
        cut = clipped(text, wide)
        space = " " * (wide - len(cut) + _GAP)
        done.append((style(cut) if style else cut) + space)
    return "".join(done).rstrip()


def _fit(widths: Sequence[int], width: int) -> list[int]:
    """Widths of columns, the widest but the first made narrower until a line fits.

    The first holds names, which people copy.
    """
    fitting = list(widths)
    over = -_GAP - _room(fitting, width) if width else 0
    while over > 0:
        widest = max(range(1, len(fitting)), key=fitting.__getitem__, default=0)
        if not widest or fitting[widest] <= _NARROWEST:
            break
        fitting[widest] -= 1
        over -= 1
    return fitting


def _cell(value: object) -> str:
    return "" if value is None else one_line(value)
