"""Lines on the terminals of a pod, which may be anything that the pod has put there."""

from __future__ import annotations

import contextlib
import os
import pty
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from devctl_node_agent.files import folder_of_pod
from devctl_node_agent.notices import Notices, line_of
from devctl_node_agent.processes import read_process
from devctl_node_agent.report import notices
from devctl_node_agent.sample import Place
from devctl_node_agent.terminals import input_times, show, write_line

from unit.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

LINE = line_of("stopped soon")


@pytest.fixture
def terminal() -> Iterator[tuple[int, int, int]]:
    """A real pseudo terminal: both ends, and its number."""
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    yield master, slave, int(os.ttyname(slave).rpartition("/")[2])
    for end in (master, slave):
        os.close(end)


def here(*numbers: int) -> Place:
    """The terminals of this process."""
    own = read_process("/proc", os.getpid())
    assert own
    return Place(own.pid, own.stat.started, frozenset(numbers))


def test_a_line_is_shown_and_is_no_input(terminal: tuple[int, int, int]) -> None:
    master, slave, number = terminal
    os.utime(slave, (1, 1))
    assert show("/proc", here(number), [number], LINE) == {number}
    assert os.read(master, 100) == b"\r\r\nstopped soon\r\r\n"
    status = os.fstat(slave)
    assert status.st_mtime > 1, "the kernel takes note of output"
    assert input_times("/proc/self/root", {number}) == {number: 10**9}, "and not as input"
    os.write(master, b"x\n")
    os.read(slave, 100)
    assert input_times("/proc/self/root", {number}) != {number: 10**9}


def test_a_terminal_that_takes_nothing_is_not_waited_for(terminal: tuple[int, int, int]) -> None:
    master, slave, number = terminal
    os.write(master, b"\x13")  # Ctrl-S
    os.set_blocking(slave, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(slave, b"x" * 4096):
            pass
    shown: list[set[int]] = []
    place = here(number)
    notice = threading.Thread(target=lambda: shown.append(show("/proc", place, [number], LINE)))
    notice.start()
    # Nobody takes anything from the terminal until the thread has ended.
    notice.join(PATIENCE)
    ended_first = not notice.is_alive()
    os.write(master, b"\x11")  # Ctrl-Q
    while notice.is_alive():
        with contextlib.suppress(BlockingIOError):
            os.read(master, 4096)
    assert ended_first
    assert shown == [set()]
    assert show("/proc", here(999_999), [999_999], LINE) == set()


def test_the_terminals_of_another_process_are_left_alone(terminal: tuple[int, int, int]) -> None:
    _, _, number = terminal
    place = here(number)
    assert show("/proc", place._replace(started=place.started - 1), [number], LINE) == set()
    assert show("/proc", place._replace(pid=2**22 + 1), [number], LINE) == set()


@pytest.fixture
def pod(tmp_path: Path) -> tuple[str, Place, Path]:
    """A /proc with one process, whose root is a folder of the test's; and its /dev/pts."""
    place = here(0)
    process = tmp_path / "proc" / str(place.pid)
    folder = process / "root/dev/pts"
    folder.mkdir(parents=True)
    (process / "stat").write_bytes(Path(f"/proc/{place.pid}/stat").read_bytes())
    return str(tmp_path / "proc"), place, folder


def test_nothing_else_than_a_terminal_is_written_to(
    pod: tuple[str, Place, Path], terminal: tuple[int, int, int], tmp_path: Path
) -> None:
    proc, place, folder = pod
    master, slave, _ = terminal
    (tmp_path / "secret").write_text("")
    (folder / "0").write_text("")
    (folder / "1").symlink_to(tmp_path / "secret")
    (folder / "2").symlink_to(os.ttyname(slave))
    os.mkfifo(folder / "3")
    (folder / "4").mkdir()
    reader = os.open(folder / "3", os.O_RDONLY | os.O_NONBLOCK)
    assert show(proc, place, range(6), LINE) == set()
    assert (folder / "0").read_text() == (tmp_path / "secret").read_text() == ""
    assert os.read(reader, 100) == b""
    with pytest.raises(BlockingIOError):
        os.read(master, 100)
    os.close(reader)
    with folder_of_pod("/", "dev") as devices:
        assert not write_line(devices, "null", LINE)


def test_a_folder_that_leads_elsewhere_is_not_entered(
    pod: tuple[str, Place, Path], terminal: tuple[int, int, int]
) -> None:
    proc, place, folder = pod
    folder.rmdir()
    folder.symlink_to("/dev/pts")
    assert show(proc, place, [terminal[2]], LINE) == set()


def test_a_notice_has_no_control_characters_and_is_bounded() -> None:
    shown = line_of("a\x1b]0;b\x07\n\u202e" + "c" * 9999)
    assert shown.startswith(b"\r\na?]0;b???c")
    assert len(shown.decode()) == 512 + 4


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {"spec": None},
        {"spec": {"pods": None}},
        {"spec": {"pods": ["a", {"uid": 7, "notice": "x"}, {"uid": "a", "notice": 7}]}},
        {"spec": {"pods": [{"uid": "a"}, {"uid": "b", "notice": ""}]}},
    ],
)
def test_an_answer_without_notices_has_none(answer: Any) -> None:
    assert notices(answer) == {}


def test_what_a_terminal_did_not_take_is_tried_again_and_never_on_too_many() -> None:
    tried: list[list[int]] = []
    takes: set[int] = set()

    def take(_place: Place, numbers: Collection[int], _line: bytes) -> set[int]:
        tried.append(list(numbers))
        return takes & set(numbers)

    given, places = Notices(take), {"a": Place(1, 1, frozenset(range(1000)))}
    given.give({"a": "x", "gone": "y"}, places)
    takes = set(range(1000))
    given.give({"a": "x"}, places)
    given.give({"a": "x"}, places)
    assert tried == [list(range(64)), list(range(64)), list(range(64, 128))]
