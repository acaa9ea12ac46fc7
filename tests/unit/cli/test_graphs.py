"""Graphs in the cells of tables."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.cli.graphs import (
    ASCII,
    BLOCKS,
    LONGEST,
    Graph,
    History,
    levels_for,
    sparkline,
    with_graphs,
)
from devctl.cli.tables import Column, lines_of
from devctl.client.objects import Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

PARTS = st.one_of(st.none(), st.floats(-1, 3, allow_nan=False))


@given(st.lists(PARTS), st.integers(0, 40), st.sampled_from([BLOCKS, ASCII]))
def test_a_graph_has_a_character_for_each_of_the_last_values(
    past: list[float | None], width: int, levels: str
) -> None:
    drawn = sparkline(past, width, levels)
    shown = past[-width:] if width else []
    assert len(drawn) == len(shown) <= width
    assert [letter == " " for letter in drawn] == [value is None for value in shown]
    assert set(drawn) <= {*levels, " "}


@given(st.lists(st.floats(0, 1), min_size=2), st.sampled_from([BLOCKS, ASCII]))
def test_more_is_never_drawn_lower(past: list[float], levels: str) -> None:
    heights = [levels.index(letter) for letter in sparkline(sorted(past), len(past), levels)]
    assert heights == sorted(heights)


def test_the_extremes_are_the_first_and_the_last_level() -> None:
    for levels in (BLOCKS, ASCII):
        assert len(levels) == 8
        assert sparkline([-1, 0, 1, 2], 4, levels) == levels[0] * 2 + levels[-1] * 2
    assert ASCII.isascii()


@pytest.mark.parametrize(
    ("encoding", "variables", "levels"),
    [
        ("utf-8", {}, BLOCKS),
        ("latin-1", {}, ASCII),
        ("ascii", {}, ASCII),
        ("no-such-encoding", {}, ASCII),
        (None, {}, ASCII),
        ("utf-8", {"NO_COLOR": "1"}, ASCII),
        ("utf-8", {"TERM": "dumb"}, ASCII),
    ],
)
def test_what_cannot_be_shown_is_drawn_in_ascii(
    encoding: str | None,
    variables: dict[str, str],
    levels: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Stream(io.StringIO):
        pass

    Stream.encoding = encoding  # type: ignore[assignment]
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert levels_for(Stream()) == levels


def test_a_history_is_as_long_as_a_graph_and_forgets_what_is_gone() -> None:
    history = History()
    for number in range(LONGEST + 5):
        history.note({"a": float(number), "b": None})
    assert history.of("a") == tuple(map(float, range(5, LONGEST + 5)))
    history.note({"a": 0.0})
    assert history.of("b") == ()
    assert history.of("a")[-1] == 0


def test_a_look_that_failed_is_not_noted() -> None:
    history = History()
    looks = iter([Snapshot([0.25]), Snapshot([0.25], "the API server is gone"), Snapshot([0.5])])
    passed = list(history.noting(looks, lambda items: dict(enumerate(items))))
    assert [look.trouble for look in passed] == ["", "the API server is gone", ""]
    assert history.of(0) == (0.25, 0.5)


COLUMNS = [
    Column("NAME", lambda item: item),
    Column("CPU", lambda _item: "0.5 of 2"),
    Column("MEMORY", lambda _item: "1Gi of 2Gi"),
]


def past(values: Sequence[float | None]) -> list[Graph]:
    return [Graph(title, lambda _item: values) for title in ("CPU", "MEMORY")]


@given(st.integers(0, 200))
def test_graphs_take_only_the_room_that_is_left(width: int) -> None:
    shown = with_graphs(["lab"], COLUMNS, past([0.5] * 50), width)
    plain, drawn = (list(lines_of(["lab"], columns)) for columns in (COLUMNS, shown))
    if len(shown) == len(COLUMNS):
        assert width < max(map(len, plain)) + 2 * 6
    else:
        assert max(map(len, drawn)) <= width
        assert [column.title for column in shown] == ["NAME", "CPU", "", "MEMORY", ""]


def test_graphs_replace_spare_columns_before_they_get_too_short() -> None:
    columns = [*COLUMNS, Column("AGE", lambda _item: "2h", spare=True)]
    taken = max(map(len, lines_of(["lab"], columns)))
    titles = {
        room: [c.title for c in with_graphs(["lab"], columns, past([0.5] * 50), taken + 2 * room)]
        for room in (12, 11, 0)
    }
    assert titles[12] == ["NAME", "CPU", "", "MEMORY", "", "AGE"]
    assert titles[11] == ["NAME", "CPU", "", "MEMORY", ""]
    assert titles[0] == ["NAME", "CPU", "MEMORY", "AGE"]


@pytest.mark.parametrize("values", [[], [None, None]])
def test_what_is_unknown_has_no_graph(values: list[float | None]) -> None:
    assert with_graphs(["lab"], COLUMNS, past(values), 200) == COLUMNS


def test_a_table_without_rows_has_no_graphs() -> None:
    assert with_graphs([], COLUMNS, past([0.5]), 200) == COLUMNS
