"""What a terminal may get of the words of others."""

from __future__ import annotations

import doctest
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl import text as module
from devctl.errors import DevctlError
from devctl.text import Screen, on_screen, one_line, readable

COLOUR = re.compile(rb"\x1b\[[0-9;:]*m")
OSC52 = b"\x1b]52;c;bHMK\x07"
"""Writes the clipboard."""


def shown(*pieces: bytes) -> bytes:
    screen = Screen()
    return b"".join(map(screen.take, pieces)) + screen.end()


def assert_harmless(said: bytes) -> None:
    """See that a terminal is told nothing but text, colours and the beginning of a line."""
    rest = COLOUR.sub(b"", said).decode()
    assert not [letter for letter in rest if not letter.isprintable() and letter in CONTROLS]


CONTROLS = {chr(code) for code in [*range(0x20), *range(0x7F, 0xA0)]} - set("\t\n\r")


def test_examples() -> None:
    found = doctest.testmod(module)
    assert (found.failed, found.attempted > 0) == (0, True)


@pytest.mark.parametrize(
    "said",
    [
        b"\x1b[31mred\x1b[0m\r\n",
        b"\x1b[38:2::1:2:3m\x1b[1;4mx\x1b[m",
        b"10%\r20%\r\n\ttab",
        "ü € \N{SNOWMAN} \u202eabc".encode(),
    ],
)
def test_text_and_colours_are_kept(said: bytes) -> None:
    assert shown(said) == said


@pytest.mark.parametrize(
    "said",
    [
        OSC52,
        OSC52.replace(b"\x07", b"\x1b\\"),
        b"\x1b]0;title\x07",
        b"\x1b]8;;http://evil\x1b\\",
        b"\x1bP+q544e\x1b\\",
        b"\x1b_apc\x1b\\",
        b"\x1b^pm\x1b\\",
        b"\x1bXsos\x1b\\",
        b"\x1b[2J",
        b"\x1b[?1049h",
        b"\x1b[6n",
        b"\x1b[>4;1m",
        b"\x1b[1 q",
        b"\x1b(0",
        b"\x1bc",
        b"\x07\x08\x0b\x0c\x0e\x7f\x00",
        "\x9b2J".encode(),
        "\x9d0;title\x9c".encode(),
        "\x90q\x1b\\".encode(),
    ],
)
def test_everything_else_is_dropped_wherever_a_piece_ends(said: bytes) -> None:
    for at in range(len(said) + 1):
        assert shown(b"a" + said[:at], said[at:] + b"b") == b"ab"


def test_what_is_begun_and_never_ended_hides_nothing() -> None:
    assert shown(b"\x1b]0;no end\nnext\n") == b"0;no end\nnext\n"
    assert shown(b"\x1b]0;" + b"x" * 10_000) == b"0;" + b"x" * 10_000
    assert shown(b"\x1b[3", b"1\nnext") == b"31\nnext"
    assert shown(b"end\x1b") == b"end"


def test_colours_end_with_the_output() -> None:
    assert shown(b"\x1b[8msecret") == b"\x1b[8msecret\x1b[0m"
    assert on_screen(b"\x1b[31mred\x1b[m") == b"\x1b[31mred\x1b[m"


def test_bytes_that_are_no_text_are_no_control_characters() -> None:
    assert shown(b"\x9b2J\xff") == "\ufffd2J\ufffd".encode()
    assert shown(b"\xe2\x82", b"\xac") == "€".encode()


def test_many_beginnings_take_no_time_and_no_memory() -> None:
    for begun in ("\x9d", "\x1b]", "\x1b[0", "\x1b[0;", "\x1b(", "\x9b"):
        screen = Screen()
        for _ in range(4):
            assert_harmless(screen.take((begun * 50_000).encode()))
        assert_harmless(screen.end())


@given(st.lists(st.binary(max_size=12) | st.sampled_from([OSC52, b"\x1b", b"[", b"]0;", b"m"])))
def test_no_output_gets_through(pieces: list[bytes]) -> None:
    assert_harmless(shown(*pieces))


@given(st.text())
def test_lines_of_our_own_are_printable(text: str) -> None:
    assert readable(text).isprintable()
    assert one_line(text).isprintable()
    assert readable(readable(text)) == readable(text)


def test_errors_are_what_a_terminal_may_get() -> None:
    error = DevctlError(f"it said: {OSC52.decode()}\n no", "look\x1b[2J")
    assert error.lines() == ["error: it said: \\x1b]52;c;bHMK\\x07 no", "  fix: look\\x1b[2J"]
    assert str(error).isprintable()
