"""Bytes both ways, and a terminal that is given back."""

from __future__ import annotations

import os
import pty
import signal
import termios
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.client.streams import execute, stdio
from devctl.client.streams.stdio import raw, terminal_size
from devctl.errors import ConnectionLostError
from unit.client.fake_streams import STDERR, STDOUT, FakeStream, there
from unit.patience import PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unit.client.fake_cluster import FakeApi


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    found = os.pipe()
    yield found
    for each in found:
        try:
            os.close(each)
        except OSError:
            continue


@given(st.lists(st.binary(max_size=100)))
def test_what_is_read_here_arrives_there_and_comes_back(pieces: list[bytes]) -> None:
    stream: Any = FakeStream(echoes=True)
    source, feeder = os.pipe()
    back, output = os.pipe()
    feeding = stdio.feed(stream, source)
    for piece in pieces:
        stdio.write(feeder, piece)
    os.close(feeder)
    stdio.drain(stream.read(), output, bytes)
    os.close(output)
    found = b""
    while data := os.read(back, 1 << 16):
        found += data
    assert found == b"".join(pieces) == bytes(stream.fed)
    assert stream.input_ended.is_set()
    feeding.join()
    os.close(source)
    os.close(back)


def test_standard_error_is_apart(ends: tuple[int, int]) -> None:
    errors: list[bytes] = []
    stdio.drain([(STDOUT, b"out"), (STDERR, b"err")], ends[1], errors.append)
    assert (os.read(ends[0], 10), errors) == (b"out", [b"err"])


def test_a_descriptor_that_does_not_block_is_waited_for(ends: tuple[int, int]) -> None:
    os.set_blocking(ends[1], False)
    os.set_blocking(ends[0], False)
    data = os.urandom(1 << 20)
    writer = threading.Thread(target=stdio.write, args=(ends[1], data))
    writer.start()
    found = b""
    while len(found) < len(data):
        found += stdio.read(ends[0])
    writer.join()
    assert found == data


def test_a_reader_that_has_gone_is_told(ends: tuple[int, int]) -> None:
    os.close(ends[0])
    with pytest.raises(BrokenPipeError):
        stdio.drain([(STDOUT, b"x")], ends[1], bytes)


def test_a_lost_connection_is_told_by_whoever_reads(ends: tuple[int, int]) -> None:
    class Lost(FakeStream):
        def write(self, data: bytes) -> None:
            raise ConnectionLostError("lost", "again") from ValueError(data)

    stream: Any = Lost(says=[ConnectionLostError("lost", "again")])
    thread = stdio.feed(stream, ends[0])
    os.write(ends[1], b"x")
    thread.join(PATIENCE)
    assert not thread.is_alive()
    with pytest.raises(ConnectionLostError):
        stdio.drain(stream.read(), 1, bytes)


@pytest.fixture
def screen() -> Iterator[tuple[int, int]]:
    """The two sides of a terminal: who looks at it, and the program's."""
    master, slave = pty.openpty()
    yield master, slave
    os.close(master)
    os.close(slave)


def resized(slave: int, columns: int, rows: int) -> None:
    termios.tcsetwinsize(slave, (rows, columns))


def test_a_terminal_is_raw_meanwhile_and_as_it_was_afterwards(screen: tuple[int, int]) -> None:
    slave = screen[1]
    before = termios.tcgetattr(slave)
    handlers = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH)]
    with pytest.raises(ValueError, match="whatever"), raw(slave, lambda *_: None):  # noqa: PT012
        assert not termios.tcgetattr(slave)[3] & (termios.ECHO | termios.ISIG | termios.ICANON)
        raise ValueError("whatever")
    assert termios.tcgetattr(slave) == before
    assert handlers == [
        signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH)
    ]


def test_the_size_is_told_now_and_when_it_changes(screen: tuple[int, int]) -> None:
    told: list[tuple[int, int]] = []
    resized(screen[1], 100, 30)
    with raw(screen[1], lambda *size: told.append(size)):
        eventually(lambda: told == [(100, 30)])
        resized(screen[1], 40, 12)
        os.kill(os.getpid(), signal.SIGWINCH)
        eventually(lambda: told == [(100, 30), (40, 12)])
    resized(screen[1], 0, 0)
    assert terminal_size(screen[1]) == (80, 24)


def test_who_is_ended_gives_the_terminal_back(screen: tuple[int, int]) -> None:
    before = termios.tcgetattr(screen[1])
    with pytest.raises(SystemExit) as raised, raw(screen[1], lambda *_: None):
        signal.raise_signal(signal.SIGTERM)
    assert raised.value.code == 143
    assert termios.tcgetattr(screen[1]) == before


def test_a_terminal_is_raw_in_another_thread_too(screen: tuple[int, int]) -> None:
    seen: list[bool] = []

    def use() -> None:
        with raw(screen[1], lambda *_: None):
            seen.append(not termios.tcgetattr(screen[1])[3] & termios.ECHO)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert seen == [True]


def test_a_command_with_a_terminal(
    api: FakeApi,
    monkeypatch: pytest.MonkeyPatch,
    screen: tuple[int, int],
    ends: tuple[int, int],
) -> None:
    there(api)
    stream = FakeStream(echoes=True)
    monkeypatch.setattr(execute, "open_exec", stream.open)
    before = termios.tcgetattr(screen[1])

    def attach() -> None:
        execute.Execute(api.cluster()).attached(
            "lab", ["sh"], ends[1], bytes, source=screen[1], terminal=True
        )

    thread = threading.Thread(target=attach)
    thread.start()
    eventually(lambda: bool(stream.sizes))
    eventually(lambda: not termios.tcgetattr(screen[1])[3] & termios.ECHO)
    # Ctrl-C is a byte like any other.
    os.write(screen[0], b"ls\r\x03")
    eventually(lambda: bytes(stream.fed) == b"ls\r\x03")
    stream.close_stdin()
    thread.join(PATIENCE)
    assert os.read(ends[0], 10) == b"ls\r\x03"
    assert termios.tcgetattr(screen[1]) == before
    assert stream.opened[0][3] == {"stdin": True, "tty": True}
