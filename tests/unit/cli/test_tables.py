"""Tables, documents and times."""

from __future__ import annotations

import doctest
import json
from dataclasses import dataclass
from datetime import timedelta
from itertools import count, islice
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from devctl.cli import tables, times
from devctl.cli.results import print_document, print_items
from devctl.cli.tables import Column, lines_of, table
from devctl.cli.times import span, until
from devctl.text import one_line
from unit.client.objects import NOW


@dataclass
class Item:
    name: str
    raw: Any = None


COLUMNS = [
    Column("NAME", lambda item: item.name),
    Column("MORE", lambda item: item.raw, wide=True),
]


@pytest.mark.parametrize("module", [tables, times])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("table", "NAME\na\nb\n"),
        ("wide", "NAME  MORE\na     1\nb\n"),
        ("name", "thing/a\nthing/b\n"),
    ],
)
def test_formats(output: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_items([Item("a", 1), Item("b")], output, COLUMNS, "thing", empty="none")
    assert capsys.readouterr() == (said, "")


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_documents_are_lists_even_of_nothing(
    output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    load = json.loads if output == "json" else yaml.safe_load
    for items in ([], [Item("ü", {"a": "é"})]):
        print_items(items, output, COLUMNS, "thing", empty="none")
        found = load(capsys.readouterr().out)
        assert (found["kind"], found["items"]) == ("List", [item.raw for item in items])


@pytest.mark.parametrize("output", ["table", "wide"])
def test_nothing_is_said_where_a_person_reads(
    output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_items([], output, COLUMNS, "thing", empty="there is none")
    assert capsys.readouterr() == ("", "there is none\n")


def test_the_first_page_is_shown_before_the_last_is_fetched() -> None:
    names = (f"n{number}" for number in count())
    assert len(list(islice(lines_of(names, [Column("NAME", str)]), 3))) == 3


TEXT = st.text(max_size=60)


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=5), st.integers(20, 120))
def test_lines_fit_and_nothing_in_them_moves_the_cursor(
    rows: list[tuple[str, str, str]], width: int
) -> None:
    rows = [(name[:4], more, most) for name, more, most in rows]
    lines = table(["NAME", "MORE", "MOST"], rows, width)
    assert len(lines) >= len(rows) + 1
    longest_name = max((len(one_line(name)) for name, *_ in rows), default=0)
    assert all(len(line) <= max(width, longest_name + 16) for line in lines)
    assert all(line.isprintable() for line in lines)


def test_a_sentence_at_the_end_of_a_row_is_folded() -> None:
    assert table(["NAME", "MESSAGE"], [["lab", "no node has enough free memory"]], 26) == [
        "NAME  MESSAGE",
        "lab   no node has enough",
        "      free memory",
    ]


MESSAGES = ["NAME", "TYPE", "REASON", "MESSAGE"]
ROW = ["lab", "Normal", "Unschedulable", "no node has enough free memory"]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (0, ["NAME  TYPE    REASON         MESSAGE", f"lab   Normal  Unschedulable  {ROW[-1]}"]),
        (36, ["NAME  TYPE    REASON", "lab   Normal  Unschedulable", f"  {ROW[-1]}"]),
        (24, ["NAME  REASON", "lab   Unschedulable", "  no node has enough", "  free memory"]),
        (16, ["NAME  REASON", "lab   Unschedul…"]),
    ],
)
def test_what_a_narrow_line_leaves_out(width: int, lines: list[str]) -> None:
    assert table(MESSAGES, [ROW], width, [1])[: len(lines)] == lines


def test_an_empty_column_goes_first() -> None:
    rows = [["training-job", "gpu-large", "", "40m"]]
    titles = ["NAME", "FLAVOR", "EXPIRES", "AGE"]
    assert table(titles, rows, 28, [1, 2, 3]) == [
        "NAME          FLAVOR     AGE",
        "training-job  gpu-large  40m",
    ]
    assert table(titles, rows, 24, [1, 2, 3]) == ["NAME          FLAVOR", "training-job  gpu-large"]


def test_who_has_set_which_field_is_nobodys_concern(capsys: pytest.CaptureFixture[str]) -> None:
    raw = {"metadata": {"name": "a", "managedFields": [{}]}, "spec": {}}
    print_items([Item("a", raw)], "json", COLUMNS, "thing", empty="")
    told = {"metadata": {"name": "a"}, "spec": {}}
    assert json.loads(capsys.readouterr().out)["items"] == [told]
    print_document(raw, "yaml")
    assert yaml.safe_load(capsys.readouterr().out) == told


@given(TEXT)
def test_it_is_one_line_and_text_that_is_stays_as_it_is(text: str) -> None:
    assert one_line(text).isprintable()
    if text.isprintable():
        assert one_line(text) == text


@given(st.timedeltas(timedelta(0), timedelta(days=9999)))
def test_spans_are_short(length: timedelta) -> None:
    assert len(span(length)) <= 6


def test_what_is_over_is_now() -> None:
    assert until(NOW - timedelta(hours=1), NOW) == "now (2026-01-02 11:00 UTC)"
