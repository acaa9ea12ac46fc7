from __future__ import annotations

from typing import TYPE_CHECKING

from devctl_node_agent import processes
from devctl_node_agent.processes import Io, describe, parse_command_line, parse_stat, read_process
from devctl_node_agent.text import clean
from hypothesis import given
from hypothesis import strategies as st
from support.node_tree import Tree, device

if TYPE_CHECKING:
    from pathlib import Path

FIELDS = " S 10 20 30 {} 20 4194560 1 2 3 4 5 6 7 8 20 0 1 0 512 1000 20"


def stat(name: bytes, terminal: int | None = None) -> bytes:
    return b"20 (" + name + b")" + FIELDS.format(device(terminal)).encode()


@given(st.binary(max_size=15).filter(lambda name: b"\0" not in name))
def test_a_name_may_be_anything(name: bytes) -> None:
    found = parse_stat(stat(name))
    assert found
    assert found.name == name.decode("utf-8", "replace")
    assert (found.state, found.parent, found.session, found.started) == ("S", 10, 30, 512)


@given(st.integers(0, 5000))
def test_the_terminal_is_its_number_in_dev_pts(number: int) -> None:
    found = parse_stat(stat(b"bash", number))
    assert found
    assert found.terminal == number


def test_other_terminals_are_none() -> None:
    for number in (0, 1025, (4 << 8) | 1, (204 << 8) | 64):
        found = parse_stat(b"20 (getty)" + FIELDS.format(number).encode())
        assert found
        assert found.terminal is None


@given(st.binary(max_size=400))
def test_no_content_is_an_error(data: bytes) -> None:
    parse_stat(data)
    parse_stat(b"1 (" + data)
    assert all("\0" not in each for each in parse_command_line(data))
    processes.parse_io(data)
    processes.parse_inner_pid(data)


def test_a_process_is_read(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    argv = ("python", "train.py")
    tree.process(42, *argv, parent=7, terminal=3, disk=100, moved=50, inner=9)
    found = read_process(str(tree.proc), 42)
    assert found
    assert (found.stat.name, found.stat.parent, found.stat.terminal) == ("python", 7, 3)
    assert found.arguments == ("python", "train.py")
    assert found.io == Io(100, 50, 50)
    assert describe(str(tree.proc), found) == "python (pid 9)"


def test_one_that_vanishes_meanwhile_is_normal(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    assert read_process(str(tree.proc), 42) is None
    tree.process(42, "python")
    for name in ("cmdline", "io", "status"):
        (tree.proc / "42" / name).unlink()
    found = read_process(str(tree.proc), 42)
    assert found
    assert (found.arguments, found.io) == ((), None)
    assert describe(str(tree.proc), found) == "python"


def test_a_long_command_line_is_cut() -> None:
    assert len(parse_command_line(b"x\0" * 1000)) == 64


def test_an_argument_in_the_middle_may_be_empty() -> None:
    assert parse_command_line(b"sh\0\0-l\0") == ("sh", "", "-l")


@given(st.text(max_size=300))
def test_text_for_people_is_short_and_printable(text: str) -> None:
    found = clean(text)
    assert len(found) <= 128
    assert found.isprintable()
