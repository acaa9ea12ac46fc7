"""Every byte that a command prints, its code and its words, through real shells."""

from __future__ import annotations

import doctest
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.client.streams import execute, stdio
from devctl.client.streams.execute import SCRIPT, Execute, Mark, WholeStream
from devctl.errors import ConnectionLostError, NotFoundError, UsageError
from devctl.kube.pod_streams import STDERR, STDOUT
from unit.client.fake_streams import FakeStream, there
from unit.client.pods import LocalStream
from unit.devserver_files.conftest import PRESENT, SHELLS

if TYPE_CHECKING:
    from pathlib import Path

    from unit.client.fake_cluster import FakeApi

KEY = b"0123abcd"
ODD = [
    "; exit 3",
    "$(exit 3)",
    "`x`",
    "a\nb",
    "'\"",
    "",
    "--help",
    "-n",
    "\\0",
    "ü€",
    "\udcff",
    "*",
]
NEAR = st.lists(st.sampled_from([b"\0", KEY[:4], KEY, b".", b"!", b"x"])).map(b"".join)


class Opened(LocalStream):
    """A command on this machine, as `open_exec` starts one in a pod."""

    def __init__(self, argv: list[str], folder: Path, *, stdin: bool) -> None:
        super().__init__(argv, folder, stdin=stdin, env={})
        self.argv = argv

    def runs(self) -> bool:
        return self._process.poll() is None


@pytest.fixture(params=PRESENT)
def opened(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[Opened]:
    """What was started, with each kind of shell as the pod's."""
    shell = tmp_path / "shell"
    program, words = shutil.which(request.param), SHELLS[request.param]
    shell.write_text(f'#!/bin/bash\nexec -a {words[0]} {program} {" ".join(words[1:])} "$@"\n')
    shell.chmod(0o755)
    found: list[Opened] = []

    def start(_cluster: object, _pod: str, argv: list[str], _namespace: str, **how: bool) -> Opened:
        if argv[:2] == ["/bin/sh", "-c"]:
            argv = [str(shell), *argv[1:]]
        found.append(Opened(argv, tmp_path, stdin=how["stdin"]))
        return found[-1]

    monkeypatch.setattr(execute, "open_exec", start)
    return found


def start(*argv: str, reads: bool = False) -> WholeStream:
    cluster: Any = None
    return WholeStream(cluster, "lab-0", "dev", argv, reads=reads)


def run(*argv: str, feed: bytes | None = None) -> tuple[int, bytes, bytes]:
    """A command's code, its output and its errors."""
    said = {STDOUT: b"", STDERR: b""}
    with start(*argv, reads=feed is not None) as stream:
        if feed is not None:
            stdio.feed(stream, feed)
        for channel, data in stream.read():
            said[channel] += data
        return stream.exit_code, said[STDOUT], said[STDERR]


def test_examples() -> None:
    assert doctest.testmod(execute).failed == 0


@given(st.lists(st.binary(max_size=9) | NEAR), NEAR)
def test_a_mark_is_found_wherever_it_is_cut(before: list[bytes], after: bytes) -> None:
    expected = b"".join(before)
    if b"\0" + KEY in expected:
        return
    mark, came = Mark(KEY), b""
    pieces = [*before, b"\0", KEY[:3], KEY[3:] + b".", after]
    for piece in pieces:
        came += mark.take(piece)
    assert (came, mark.found, mark.held) == (expected + after, b".", b"")
    at_once = Mark(KEY)
    assert at_once.take(b"".join(pieces)) == came


@given(st.lists(st.binary(max_size=9) | NEAR))
def test_without_a_mark_nothing_is_lost(pieces: list[bytes]) -> None:
    if b"\0" + KEY in b"".join(pieces):
        return
    mark = Mark(KEY)
    came = b"".join([mark.take(piece) for piece in pieces])
    assert (came + mark.held, mark.found) == (b"".join(pieces), b"")


def test_bytes_the_code_and_the_words_pass_through(opened: list[Opened]) -> None:
    assert run("printf", "%s|", *ODD) == (0, os.fsencode("".join(f"{w}|" for w in ODD)), b"")
    data = os.urandom(300_000)
    assert run("cat", feed=data) == (0, data, b"")
    assert run("sh", "-c", "echo out; echo err >&2; exit 9") == (9, b"out\n", b"err\n")
    assert run("sh", "-c", "kill -9 $$")[0] == 137
    assert len(opened) == 4


def test_a_command_without_input_has_none(opened: list[Opened]) -> None:
    assert run("sh", "-c", "cat; readlink /proc/self/fd/0; [ ! -e /proc/self/fd/3 ]") == (
        *(0, b"/dev/null\n", b""),
    )
    assert len(opened) == 1


def test_a_word_of_the_shells_own_is_no_command(opened: list[Opened]) -> None:
    # It is a program, or nothing: the shell would have its own `echo`, and end with `exit`.
    assert run("echo", "-e", "a\\tb") == (0, b"a\tb\n", b"")
    code, printed, said = run("exit", "3")
    assert (code, printed) == (127, b"")
    assert b"exit" in said
    assert len(opened) == 2


@pytest.mark.parametrize(
    "program", ["no-such-program", "./no-such", "", "--help", "/etc/passwd", "/etc"]
)
def test_a_program_that_is_not_there_is_told_by_the_runtime(
    opened: list[Opened], program: str
) -> None:
    # Which is what starts it here, without a shell.
    with pytest.raises((FileNotFoundError, PermissionError)):
        run(program, "word")
    assert [each.argv[2] for each in opened] == [SCRIPT]


def test_the_shell_goes_when_all_has_come_or_nobody_listens(opened: list[Opened]) -> None:
    stream = start("echo", "x")
    said = stream.read()
    assert next(said) == (STDOUT, b"x\n")
    # Both marks may be on their way, but whoever reads has not come for them.
    assert opened[0].runs()
    assert list(said) == []
    assert (opened[0].runs(), stream.exit_code) == (False, 0)


@pytest.mark.parametrize("code", [0, 3])
@pytest.mark.parametrize("channel", [STDOUT, STDERR])
def test_an_end_that_does_not_come_is_an_error(
    channel: int, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    says = [(STDOUT, b"some\0"), (channel, b"\0" + KEY + b".")]
    monkeypatch.setattr(execute, "open_exec", lambda *_, **__: FakeStream(list(says), code))
    monkeypatch.setattr(os, "urandom", lambda _: bytes.fromhex(KEY.decode()))
    came: list[bytes] = []
    read = start("true", reads=True).read()
    with pytest.raises(ConnectionLostError, match="the end of what it has printed") as raised:
        came.extend(data for _, data in read)
    assert b"".join(came) == b"some\0"
    assert raised.value.exit_code == (code or 1)
    assert "devctl cp" in raised.value.fix


def test_a_command_of_a_program(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    there(api, replicas=2)
    stream = FakeStream(says=[(STDOUT, b"1\xff"), (STDERR, b"e")], code=3)
    monkeypatch.setattr(execute, "open_exec", stream.open)
    done = Execute(api.cluster())("lab", ["echo", *ODD], replica=1)
    assert (done.exit_code, done.stdout, done.stderr) == (3, "1\ufffd", "e")
    assert (done.output, done.errors) == (b"1\xff", b"e")
    how = {"stdin": False, "tty": False}
    assert stream.opened == [("lab-1", ["echo", *ODD], "dev-alice", how)]
    assert stream.closed.is_set()


def test_a_command_that_is_fed(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    there(api)
    stream = FakeStream(echoes=True)
    monkeypatch.setattr(execute, "open_exec", stream.open)
    data = os.urandom(100_000)
    assert Execute(api.cluster())("lab", ["cat"], feed=data).output == data


def test_no_command_and_no_server(api: FakeApi) -> None:
    with pytest.raises(UsageError, match="no command is given"):
        Execute(api.cluster())("lab", [])
    with pytest.raises(NotFoundError, match="there is no server `lab`"):
        Execute(api.cluster())("lab", ["true"])
