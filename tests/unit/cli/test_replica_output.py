"""What several ranks print, line by line, whatever pieces it comes in."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.cli import replica_output
from devctl.cli.replica_output import ReplicaOutput
from devctl.client.runs.events import Ended, Outcome, Printed

if TYPE_CHECKING:
    from collections.abc import Callable

    from unit.cli.conftest import Terminal, Tty


def shown(ranks: list[int], pieces: list[tuple[int, bytes]]) -> bytes:
    written: list[bytes] = []
    output = ReplicaOutput(ranks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replica_output, "_to_standard_output", written.append)
        for rank, data in pieces:
            output.add(rank, data)
        output.end_all()
    return b"".join(written)


def test_lines_of_ranks_are_whole() -> None:
    pieces = [(0, b"on"), (1, b"two\nth"), (0, b"e\n"), (1, b"ree"), (1, b"\n"), (0, b"end")]
    assert shown([0, 1], pieces) == b"[1] two\n[0] one\n[1] three\n[0] end\n"


def test_a_progress_bar_is_a_line_for_each_of_its_states() -> None:
    pieces = [(0, b"\r 10%"), (0, b"\r 20%\r"), (0, b"\n"), (0, b"a\r"), (0, b"\nb")]
    assert shown([0, 1], pieces).split(b"\n") == [
        b"[0] ",
        b"[0]  10%",
        b"[0]  20%",
        b"[0] a",
        b"[0] b",
        b"",
    ]


def test_a_single_rank_is_passed_on() -> None:
    assert shown([0], [(0, b"\r10%"), (0, b"\xff\x00")]) == b"\r10%\xff\x00"


def test_on_a_terminal_it_is_what_that_may_get(tty: Callable[[], Tty]) -> None:
    screen = tty()
    said = b"\x1b]52;c;bHMK\x07\x1b[31mred\x1b[2J\r 10%"
    output = ReplicaOutput([0])
    for piece in (said[:3], said[3:], b"\n"):
        output.add(0, piece)
    output.end(0)
    assert screen.written() == b"\x1b[31mred\r 10%\n\x1b[0m"


def test_on_a_terminal_a_colour_is_that_of_its_line(
    tty: Callable[[], Tty], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    screen = tty()
    output = ReplicaOutput([0, 1])
    output.add(0, b"\x1b[31mred\x1b]0;x")
    output.add(1, b"plain\n")
    output.add(0, b"\x07\nnext\x1b")
    output.end_all()
    assert screen.written() == b"[1] plain\n[0] \x1b[31mred\x1b[0m\n[0] next\n"


def test_numbers_are_in_columns() -> None:
    assert shown([*range(12)], [(3, b"a\n"), (11, b"b\n")]) == b" [3] a\n[11] b\n"


def test_a_line_without_an_end_is_shown_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_output, "_LONGEST", 10)
    assert shown([0, 1], [(0, b"x" * 11), (0, b"y\n")]) == b"[0] xxxxxxxxxxx\n[0] y\n"


@given(
    lines=st.lists(st.binary(max_size=8).map(lambda b: b.translate(None, b"\r\n")), max_size=20),
    sizes=st.lists(st.integers(1, 9), min_size=1),
)
def test_every_line_comes_once_and_in_order(lines: list[bytes], sizes: list[int]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    pieces, at, number = [], 0, 0
    while at < len(data):
        size = sizes[number % len(sizes)]
        pieces += [(rank, data[at : at + size]) for rank in (0, 1)]
        at, number = at + size, number + 1
    found = shown([0, 1], pieces).split(b"\n")[:-1]
    for rank in (b"[0] ", b"[1] "):
        assert [line.removeprefix(rank) for line in found if line.startswith(rank)] == lines


@pytest.mark.parametrize("no_color", ["", "1"])
def test_ranks_have_colours_on_a_terminal(
    no_color: str,
    terminal: Callable[..., tuple[Terminal, Terminal]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    terminal()
    assert sys.stdout.isatty()
    assert (b"\x1b[" in shown([0, 1], [(0, b"a\n")])) is (not no_color)


def test_the_last_lines_are_kept_and_no_more() -> None:
    def last(printed: bytes) -> list[bytes]:
        place: Any = None
        outcome = Outcome(place, "train-1a2b")
        outcome.tell(Printed(0, printed))
        outcome.tell(Ended(0, 1, 0.0))
        return outcome.last_lines

    numbers = b"".join(b"%d\n" % number for number in range(30))
    assert last(b"x" * 100_000 + b"\n" + numbers) == [b"%d" % number for number in range(10, 30)]
    assert last(b"exitcode  : 7 (pid: 5)\n\xff") == [b"exitcode  : 7 (pid: 5)", b"\xff"]
