"""Which of our formats a client likes best."""

from __future__ import annotations

import doctest

import pytest
from devctl_gateway.http import accepted as module
from devctl_gateway.http.accepted import preferred
from hypothesis import given
from hypothesis import strategies as st

FORMATS = {"application/json": "json", "text/csv": "csv"}


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("header", "format"),
    [
        ("", "json"),
        ("*/*", "json"),
        ("text/html", "json"),
        ("TEXT/CSV", "csv"),
        ("text/*", "csv"),
        ("text/csv;q=0.5, application/json;q=0.9", "json"),
        ("application/json;q=0, */*", "csv"),
        ("application/json;charset=utf-8;q=0.2, text/csv", "csv"),
    ],
)
def test_the_best_liked_one_is_answered(header: str, format: str) -> None:  # noqa: A002
    assert preferred(header, FORMATS) == format


@given(st.text(alphabet=";,=/*q.01 \ttextcsv\x00", max_size=60))
def test_any_header_gets_our_format_or_one_that_it_names(header: str) -> None:
    assert preferred(header, FORMATS) == "json" or "text/" in header
    assert preferred(f"{header}, application/json, text/csv;q=0", FORMATS) == "json"
    assert preferred(f"{header}, application/json;q=0, text/csv", FORMATS) == "csv"
