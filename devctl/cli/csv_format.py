"""Rows as CSV, for spreadsheets and scripts."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_FORMULA = ("=", "+", "-", "@")
"""Characters with which spreadsheets take a cell for a formula, which may run programs."""


def csv_text(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A heading and rows, each on a line; None is an empty cell.

    >>> csv_text(["user", "gpus"], [["alice", 2], ["=1+1", None]])
    "user,gpus\\nalice,2\\n'=1+1,\\n"
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_cell(value) for value in row] for row in (titles, *rows))
    return text.getvalue()


def _cell(value: object) -> str:
    # What is left of a text, since blanks before a formula are none of it.
    text = one_line("" if value is None else value)
    # Spreadsheets show what follows an apostrophe as text.
    return f"'{text}" if text.startswith(_FORMULA) else text
