"""The last output of a program ends up in status, Events and terminals, so it is not trusted."""

from __future__ import annotations

import doctest
import json
import re
import unicodedata
from typing import Any

import pytest
from devctl_observer.judging import printable
from devctl_observer.judging.last_words import own_words
from devctl_observer.judging.printable import LONGEST, shown
from hypothesis import given
from hypothesis import strategies as st

ANYTHING = st.text(st.characters(), max_size=3000)
"""Also invalid Unicode: lone surrogates."""


def is_plain(text: str) -> bool:
    return not any(unicodedata.category(char)[0] == "C" for char in text)


def test_its_examples_hold() -> None:
    assert doctest.testmod(printable).failed == 0


@given(ANYTHING, st.integers(2, 2000))
def test_any_text_is_shown_on_one_short_line(text: str, limit: int) -> None:
    found = shown(text, limit)
    assert len(found) <= limit
    assert is_plain(found)
    assert len(found.splitlines()) <= 1
    found.encode()


def test_the_last_lines_are_what_counts() -> None:
    found = shown("\n".join(f"line {number}" for number in range(1000)))
    assert found.startswith("…")
    assert found.endswith("line 998 | line 999")
    assert len(found) == LONGEST
    assert shown("a\x1b[31m\x00\u202eb\tc\x85d\u2028e") == "a[31mb c | d | e"


@given(ANYTHING)
def test_what_is_no_such_object_is_no_reason(text: str) -> None:
    assert own_words(text) is None or text.strip().startswith("{")


@given(st.text(max_size=70), ANYTHING)
def test_own_words_hold_what_a_status_takes(reason: str, message: str) -> None:
    found = own_words(json.dumps({"reason": reason, "message": message}))
    assert (found is not None) is bool(re.fullmatch(r"[A-Z][A-Za-z]{0,62}", reason)) or not found
    if found:
        assert found.reason == reason
        assert is_plain(found.message)
        assert 0 < len(found.message) <= LONGEST
        found.message.encode()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"reason": "WeightsMissing", "message": "no weights"}, ("WeightsMissing", "no weights")),
        ({"reason": "WeightsMissing", "message": ""}, ("WeightsMissing", "no details given")),
        ({"reason": "weightsMissing", "message": "m"}, None),
        ({"reason": "Weights Missing", "message": "m"}, None),
        ({"reason": "Größe", "message": "m"}, None),
        ({"reason": "X" * 64, "message": "m"}, None),
        ({"reason": "X\n", "message": "m"}, None),
        ({"reason": "X"}, None),
        ({"message": "m"}, None),
        ({"reason": 1, "message": "m"}, None),
        ({"reason": "X", "message": ["m"]}, None),
        ({"reason": "X", "message": "m", "phase": "Succeeded"}, None),
        ([{"reason": "X", "message": "m"}], None),
        (None, None),
    ],
)
def test_own_words(said: Any, expected: Any) -> None:
    found = own_words(json.dumps(said))
    assert (found and (found.reason, found.message)) == expected
    assert own_words(f"a line before\n{json.dumps(said)}") is None


@pytest.mark.parametrize(
    "text", [None, "", "{", "{" * 100_000, '{"reason":"X","message":"\\ud800"}']
)
def test_what_is_no_json(text: str | None) -> None:
    found = own_words(text)
    assert found is None or is_plain(found.message)
