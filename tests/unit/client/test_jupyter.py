"""Jupyter in a server: started with its token, waited for, ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import pytest

from devctl.client import jupyter as module
from devctl.client.jupyter import StartJupyter
from devctl.errors import DevctlError, UsageError, WaitTimeoutError
from unit.client.fake_streams import STDERR, FakeStream, there

if TYPE_CHECKING:
    from unit.client.fake_cluster import FakeApi

MISSING = b"error: this server has no Jupyter\n  fix: install it there: `pip install`\n"


class Port:
    """What is forwarded: nothing."""

    local = 12345

    def __init__(self, *_: object) -> None:
        self.asked: list[Any] = []

    def __call__(self, *arguments: Any, **how: Any) -> Self:
        self.asked.append((arguments, how))
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Ends(FakeStream):
    """A script that ends when its input does."""

    def close_stdin(self) -> None:
        super().close_stdin()
        self.closed.set()


@pytest.fixture
def stream(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> FakeStream:
    """The script, in a server that runs; Jupyter answers at the second look."""
    there(api)
    found = Ends(says=[(STDERR, b"[I] started")], holds=True)
    monkeypatch.setattr(module, "open_exec", found.open)
    monkeypatch.setattr(module, "Forward", Port)
    monkeypatch.setattr(module, "_POLL", 0.01)
    answers(monkeypatch, b"", b"HTTP/1.1 200 OK")
    return found


def answers(monkeypatch: pytest.MonkeyPatch, *said: bytes) -> None:
    left = list(said)

    class Answer(Port):
        def write(self, _data: bytes) -> None:
            if len(left) == 1:
                return
            raise DevctlError("nothing listens", "start it")

        def read(self) -> bytes:
            return left[0]

    def connect(*_: object) -> Answer:
        if len(left) > 1:
            left.pop(0)
            raise DevctlError("nothing listens", "start it")
        return Answer()

    monkeypatch.setattr(module, "open_port_forward", connect)


def test_it_answers_and_ends_with_whoever_started_it(api: FakeApi, stream: FakeStream) -> None:
    with StartJupyter(api.cluster())("lab", folder="/home/dev/src") as found:
        token = bytes(stream.fed).decode().strip()
        assert found.url == f"http://127.0.0.1:12345/?token={token}"
        assert not stream.input_ended.is_set()
    assert stream.input_ended.is_set()
    [(pod, argv, _, how)] = stream.opened
    assert (pod, how) == ("lab-0", {"stdin": True})
    assert argv == ["/bin/sh", "/opt/devctl/jupyter", "leave", "/home/dev/src", str(found.port)]
    # Whoever sees the list of processes or the audit log learns nothing.
    assert len(token) >= 32
    assert token not in str(stream.opened)


def test_it_ends_with_ctrl_c(api: FakeApi, stream: FakeStream) -> None:
    with pytest.raises(KeyboardInterrupt), StartJupyter(api.cluster())("lab"):
        raise KeyboardInterrupt
    assert stream.input_ended.is_set()


def test_one_that_is_kept_needs_nobody(api: FakeApi, stream: FakeStream) -> None:
    with StartJupyter(api.cluster())("lab", keep=True) as found:
        assert found.url
        assert stream.opened[0][1][2] == "keep"
        assert stream.input_ended.is_set()


@pytest.mark.parametrize("keep", [True, False])
def test_a_server_without_jupyter_is_told(
    api: FakeApi, stream: FakeStream, monkeypatch: pytest.MonkeyPatch, *, keep: bool
) -> None:
    answers(monkeypatch, *[b""] * 1000)
    stream.says, stream.code, stream.holds = [(STDERR, MISSING)], 127, False
    with pytest.raises(DevctlError, match="this server has no Jupyter") as raised:
        StartJupyter(api.cluster())("lab", keep=keep).__enter__()
    assert raised.value.fix == "install it there: `pip install`"


def test_one_that_fails_says_its_last_line(
    api: FakeApi, stream: FakeStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, *[b""] * 1000)
    stream.says = [(STDERR, b"loading\nport 20000 is \x1b[1mtaken")]
    stream.code, stream.holds = 1, False
    with pytest.raises(DevctlError, match=r"does not start: port 20000 is \\x1b\[1mtaken"):
        StartJupyter(api.cluster())("lab").__enter__()


def test_one_that_never_answers(
    api: FakeApi, stream: FakeStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 0.05)
    answers(monkeypatch, *[b""] * 1000)
    with pytest.raises(WaitTimeoutError, match=r"does not answer after 0 s"):
        StartJupyter(api.cluster())("lab").__enter__()
    assert stream.closed.is_set()


def test_one_that_ends_by_itself_is_told(api: FakeApi, stream: FakeStream) -> None:
    with StartJupyter(api.cluster())("lab") as found:
        stream.closed.set()
        with pytest.raises(DevctlError, match="has ended in the server"):
            found.wait()


def test_a_folder_is_a_whole_path(api: FakeApi) -> None:
    with pytest.raises(UsageError, match="is not an absolute path"):
        StartJupyter(api.cluster())("lab", folder="src").__enter__()
