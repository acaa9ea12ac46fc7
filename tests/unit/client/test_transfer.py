"""A command that is fed while it prints, and either side that ends first."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

import pytest

from devctl.client.files import transfer as files_transfer
from devctl.client.files.remote import Place
from devctl.client.files.transfer import Transfer, expect, transfer
from devctl.errors import ConnectionLostError, DevctlError
from devctl.kube.pod_streams import STDERR, STDOUT
from unit.client.pods import Command
from unit.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Send = Callable[[bytes], None]


def run(tmp_path: Path, script: str, feed: Any = None) -> tuple[bytes, Command]:
    command = Command(["sh", "-c", script], feed, tmp_path)
    return b"".join(command), command


def test_what_is_printed(tmp_path: Path) -> None:
    said, command = run(tmp_path, "printf +out; printf err >&2; exit 3")
    assert (said, command.errors, command.code) == (b"+out", b"err", 3)


def test_a_command_is_fed_while_it_prints(tmp_path: Path) -> None:
    """More than any buffer on the way holds, in both directions."""
    data = bytes(range(256)) * 8192

    def feed(send: Send) -> None:
        for at in range(0, len(data), 100_000):
            send(data[at : at + 100_000])

    said, command = run(tmp_path, "printf +; cat; exit 0", feed)
    assert said == data
    assert command.code == 0


def test_a_command_that_is_not_ready_is_sent_nothing(tmp_path: Path) -> None:
    fed: list[int] = []
    _, command = run(tmp_path, "echo no >&2; exit 97", lambda _send: fed.append(1))
    assert (command.code, command.errors, fed) == (97, b"no\n", [])
    with pytest.raises(DevctlError, match="nobody asked"):
        run(tmp_path, "echo Welcome; cat", lambda _send: fed.append(1))
    assert fed == []


def test_a_command_that_ends_early_says_why(tmp_path: Path) -> None:
    def feed(send: Send) -> None:
        while True:
            send(b"x" * 65536)

    _, command = run(tmp_path, "printf +; head -c 10 >/dev/null; echo full >&2; exit 5", feed)
    assert (command.code, command.errors) == (5, b"full\n")


@pytest.mark.parametrize("error", [OSError("gone"), DevctlError("too large"), ValueError("x")])
def test_what_feeding_raises_is_raised(error: Exception, tmp_path: Path) -> None:
    def feed(send: Send) -> None:
        send(b"half")
        raise error

    with pytest.raises(type(error)) as raised:
        run(tmp_path, "printf +; cat >/dev/null; exit 97", feed)
    assert raised.value is error


def test_what_a_pod_complains_of_without_end_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_transfer, "_MOST_ERRORS", 10)
    _, command = run(tmp_path, "head -c 100000 /dev/zero >&2")
    assert len(command.errors) == 10


@pytest.mark.parametrize(("size", "packed"), [(0, 512), (1, 1024), (512, 1024)])
def test_what_is_going_to_move_is_announced(size: int, packed: int) -> None:
    class Progress:
        def __init__(self) -> None:
            self.expected: list[int] = []

        def __call__(self, count: int) -> None:
            raise AssertionError(count)

        def expect(self, count: int) -> None:
            self.expected.append(count)

    told = Progress()
    expect(told, [size, 3])
    expect(told, [size, 512], packed=True)
    assert told.expected == [size + 3, packed + 1024]
    expect(None, [size])


class Stuck:
    """A pod whose connection is lost, or that takes nothing more."""

    exit_code = 0

    def __init__(self, *, lost: bool) -> None:
        self.lost, self.closed = lost, threading.Event()

    def read(self) -> Iterator[tuple[int, bytes]]:
        yield STDOUT, b"+"
        yield STDERR, b"?"
        if self.lost:
            raise ConnectionLostError("the connection was lost")

    def write(self, _data: bytes) -> None:
        self.closed.wait(PATIENCE)
        raise ConnectionLostError("closed")

    def close_stdin(self) -> None:
        """Nobody takes it."""

    def close(self) -> None:
        self.closed.set()


def test_a_lost_connection_is_told_of() -> None:
    stream: Any = Stuck(lost=True)
    with pytest.raises(ConnectionLostError, match="the connection was lost"):
        list(Transfer(stream, lambda send: send(b"x")))


def test_sending_that_hangs_ends_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_transfer, "_SOON", 0.01)
    stream: Any = Stuck(lost=False)
    command = Transfer(stream, lambda send: send(b"x"))
    assert list(command) == []
    assert command.code == 0
    assert stream.closed.is_set()


def test_a_command_runs_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class Opened(Stuck):
        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            self.close()

    def open_exec(*arguments: object, **how: object) -> Opened:
        asked.append((arguments, how))
        return Opened(lost=False)

    monkeypatch.setattr(files_transfer, "open_exec", open_exec)
    cluster: Any = "cluster"
    with transfer(Place(cluster, "ns", "lab-0", "/a", container="loader"), "pwd", "b") as command:
        assert list(command) == [b"+"]
    how = {"container": "loader", "stdin": False}
    argv = ["sh", "-c", "pwd", "devctl", "/a", "b"]
    assert asked == [(("cluster", "lab-0", argv, "ns"), how)]
