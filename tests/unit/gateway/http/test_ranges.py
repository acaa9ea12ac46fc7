"""Which bytes a header asks for, whatever is in it."""

from __future__ import annotations

import doctest

import pytest
from devctl_gateway.http import ranges
from devctl_gateway.http.ranges import range_of
from hypothesis import example, given
from hypothesis import strategies as st


def test_examples() -> None:
    assert doctest.testmod(ranges).failed == 0


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("bytes=0-0", (0, 1)),
        ("bytes=0-", (0, 10)),
        ("bytes=9-", (9, 1)),
        ("bytes=9-9", (9, 1)),
        ("bytes=10-", (10, 0)),
        ("bytes=10-10", (10, 0)),
        ("bytes=-1", (9, 1)),
        ("bytes=-99", (0, 10)),
        ("bytes=-0", (10, 0)),
        (" bytes=0-1 ", (0, 2)),
        ("bytes=1-0", None),
        ("bytes=-", None),
        ("bytes=", None),
        ("bytes=0-1,3-4", None),
        ("bytes=0", None),
        ("bytes=a-b", None),
        ("bytes=\u0660-", None),
        ("bytes=0-" + "9" * 19, None),
        ("pieces=0-1", None),
        ("", None),
    ],
)
def test_a_header_of_a_file_of_ten_bytes(header: str, found: tuple[int, int] | None) -> None:
    assert range_of(header, 10) == found


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_a_range_is_what_a_slice_is(first: int, last: int, size: int) -> None:
    content = bytes(range(size))
    found = range_of(f"bytes={first}-{last}", size)
    if first > last:
        assert found is None
        return
    assert found
    assert content[found.start : found.start + found.length] == content[first : last + 1]
    end = range_of(f"bytes=-{last}", size)
    assert end
    assert content[end.start : end.start + end.length] == (content[-last:] if last else b"")


@given(st.text(), st.integers(0, 2**63))
@example("bytes=-5", 0)
@example("bytes=0-", 0)
def test_no_header_asks_for_more_than_there_is(header: str, size: int) -> None:
    for text in (header, f"bytes={header}", f"bytes=-{header}", f"bytes={header}-"):
        found = range_of(text, size)
        assert found is None or not found.length or (0 <= found.start < size)
        assert found is None or not found.length or found.start + found.length <= size
