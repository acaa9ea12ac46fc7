"""Cursors: opaque, and whatever a client makes of them is an answer, never a failure."""

from __future__ import annotations

import base64
import json
from datetime import datetime, timedelta

import pytest
from devctl_gateway.http.paging import PageRequest, decode_cursor, encode_cursor, next_cursor
from devctl_gateway.http.problems import Problem
from hypothesis import example, given
from hypothesis import strategies as st

PRINTABLE = st.text(max_size=50).filter(str.isprintable)
NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
AS_CURSORS = JSON.map(lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).decode())


@given(st.lists(PRINTABLE | NUMBERS, max_size=4))
def test_a_cursor_is_what_it_was_made_of(values: list[str | int]) -> None:
    assert decode_cursor(encode_cursor(values)) == tuple(values)


@given(st.datetimes(), NUMBERS, PRINTABLE)
def test_a_cursor_of_known_types_is_what_it_was_made_of(at: datetime, n: int, text: str) -> None:
    assert decode_cursor(encode_cursor((at, n, text)), datetime, int, str) == (at, n, text)


@given(
    st.one_of(st.text(), AS_CURSORS, st.binary().map(lambda raw: raw.decode("latin-1"))),
    st.sampled_from([(), (int,), (datetime, str)]),
)
@example("", (int,))
@example("=" * 8, ())
@example("W10", (int,))
@example("\ud800", ())
@example(base64.urlsafe_b64encode(b"[" * 700).decode(), ())
@example(base64.urlsafe_b64encode(b'["9999-99-99", "x"]').decode(), (datetime, str))
@example(base64.urlsafe_b64encode(b'["2025-01-01T00:00:00Z", "x"]').decode(), (datetime, str))
@example(base64.urlsafe_b64encode(b"[true]").decode(), (int,))
@example(base64.urlsafe_b64encode(b"[1e999]").decode(), (int,))
@example(base64.urlsafe_b64encode(b"[9223372036854775808]").decode(), (int,))
@example(base64.urlsafe_b64encode(b'["\\u0000"]').decode(), (str,))
def test_any_text_is_a_cursor_or_the_right_problem(text: str, kinds: tuple[type, ...]) -> None:
    try:
        values = decode_cursor(text, *kinds)
    except Problem as problem:
        refused: Problem | None = problem
    else:
        refused = None
        assert all(type(each) in (kinds or (str, int)) for each in values)
    assert refused is None or (refused.status, refused.title) == (422, "Invalid cursor")


def test_the_cursor_of_one_list_is_none_of_another() -> None:
    cursor = encode_cursor((7,))
    assert PageRequest(10, cursor).after(int) == (7,)
    with pytest.raises(Problem, match="`cursor` is not one that this list has answered"):
        PageRequest(10, cursor).after_time()
    assert PageRequest(10).after_time() is None


def test_pages_meet_without_gap_or_overlap() -> None:
    rows = [(datetime(2025, 1, 1) + timedelta(days=i // 3), f"id-{i}") for i in range(10)]  # noqa: DTZ001
    seen: list[tuple[datetime, str]] = []
    cursor = ""
    while True:
        after = PageRequest(3, cursor).after_time()
        found = [row for row in rows if after is None or row > after][:4]
        seen += found[:3]
        following = next_cursor(found, 3, lambda row: row)
        if following is None:
            break
        cursor = following
    assert seen == rows
