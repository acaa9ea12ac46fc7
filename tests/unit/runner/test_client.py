from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from devctl_runner import client
from devctl_runner.runs.request import split

if TYPE_CHECKING:
    from pathlib import Path


class BecameStock(Exception):  # noqa: N818 - it stands for execv
    """Replaces the stock runner."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def execv(program: str, arguments: list[str]) -> None:
        raise BecameStock(program, *arguments)

    monkeypatch.setenv("DEVCTL_RUNNER_DIR", str(tmp_path))
    monkeypatch.setattr(os, "execv", execv)
    monkeypatch.setattr(sys, "argv", ["ansible-runner", "run", "/d"])
    return tmp_path


def answer(monkeypatch: pytest.MonkeyPatch, message: str) -> None:
    monkeypatch.setattr(client, "ask", lambda: message)


def test_the_daemons_answer_is_the_programs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(monkeypatch, "rc 2\nfatal: no\n")

    assert client.run() == 2
    assert capsys.readouterr().out == "fatal: no\n"


def test_the_daemon_reads_what_the_client_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD", "a=b\nc")

    argv, cwd, environment = split(client.request())

    assert (argv, cwd, environment) == (["run", "/d"], os.getcwd(), dict(os.environ))  # noqa: PTH109


@pytest.mark.parametrize("message", [b"", b"x", b"3\0run", b"{}"])
def test_anything_else_is_no_message(message: bytes) -> None:
    with pytest.raises((ValueError, IndexError), match=r"invalid literal|out of range"):
        split(message)


def test_a_refusal_goes_to_the_stock_runner_and_is_noted(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    answer(monkeypatch, "fallback cmdline")

    with pytest.raises(BecameStock) as became:
        client.run()

    assert became.value.args[1:] == (sys.executable, "-P", "-m", "ansible_runner", "run", "/d")
    assert (folder / "fallbacks").read_text() == "cmdline\n"


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("DEVCTL_RUNNER_MAX_RUNS", "0")

    with pytest.raises(BecameStock):
        client.run()

    assert list(folder.iterdir()) == []


def test_a_dead_daemon_is_started_again_but_not_for_every_run(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    started: list[Any] = []
    monkeypatch.setattr(os, "posix_spawn", lambda *args, **_: started.append(args))

    client.start_daemon()
    client.start_daemon()
    assert len(started) == 1

    os.utime(folder / "started", (0, 0))
    client.start_daemon()
    assert len(started) == 2


def test_no_folder_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "file").touch()
    monkeypatch.setenv("DEVCTL_RUNNER_DIR", str(folder / "file" / "below"))

    client.start_daemon()
    with pytest.raises(BecameStock):
        client.stock("down")
