from __future__ import annotations

import sys
from pathlib import Path

import pytest

from devctl.errors import StepError
from devctl.local.commands import capture, explain, run_logged

LOG = Path("/logs/build.log")


@pytest.mark.parametrize(
    "line",
    [
        "W: Failed to fetch it  Temporary failure resolving 'mirror.example'",
        "curl: (6) Could not resolve host: mirror.example",
        "Could not connect to mirror.example:80 - connect (111: Connection refused)",
        "connect (101: Network is unreachable)",
        "dial tcp: lookup proxy.example: no such host",
        "dial tcp 192.0.2.1:443: connect: connection refused",
        "dial tcp 192.0.2.1:443: i/o timeout",
        "Failed to establish a new connection: [Errno -3] Temporary failure in name resolution",
    ],
)
def test_a_sign_of_no_network_anywhere_is_the_reason(line: str) -> None:
    message, fix = explain("compile it", 1, f"first\n  {line}\nE: something followed\n", LOG)
    assert message == f"cannot compile it: no network: {line}"
    assert fix == f"check the network, then run it again; log: {LOG}"


def test_else_the_last_line_is_the_reason() -> None:
    message, fix = explain("compile it", 2, "a.go:1: first\n\n  a.go:2: last  \n\n", LOG)
    assert message == "cannot compile it: a.go:2: last"
    assert fix == f"read the log; log: {LOG}"


def test_a_silent_program_is_described_by_its_exit_code() -> None:
    assert explain("unmount it", 32, "", None) == ("cannot unmount it: exit code 32", "")


def test_a_log_has_the_command_and_both_streams_after_what_was_there(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "it.log"
    for word in ("one", "two"):
        run_logged(["sh", "-c", f"echo {word}; echo oops >&2"], log, what="say it")
    assert log.read_text() == (
        "$ sh -c echo one; echo oops >&2\none\noops\n$ sh -c echo two; echo oops >&2\ntwo\noops\n"
    )


def test_a_failure_quotes_its_own_output_only(tmp_path: Path) -> None:
    log = tmp_path / "it.log"
    log.write_text("lookup it: no such host\n")
    with pytest.raises(StepError) as raised:
        run_logged(["sh", "-c", "echo broken; exit 3"], log, what="fix it")
    assert raised.value.message == "cannot fix it: broken"
    assert str(log) in raised.value.fix


def test_a_program_reads_nothing_and_sees_the_environment_it_is_given(tmp_path: Path) -> None:
    script = "import os, sys; print(sys.stdin.read(), os.environ['ONLY'], os.getcwd())"
    log = tmp_path / "it.log"
    run_logged([sys.executable, "-c", script], log, what="x", env={"ONLY": "this"}, cwd=tmp_path)
    assert log.read_text().splitlines()[-1] == f" this {tmp_path}"


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    for call in (
        lambda: run_logged(["no-such-program", "x"], tmp_path / "log", what="do it"),
        lambda: capture(["no-such-program", "x"], what="do it"),
    ):
        with pytest.raises(StepError, match=r"^cannot do it: no program `no-such-program`$"):
            call()


def test_capture_gives_the_output_and_quotes_the_last_error() -> None:
    assert capture(["cat"], what="copy it", input_text="text") == "text"
    with pytest.raises(StepError, match=r"^cannot copy it: broken$"):
        capture(["sh", "-c", "echo output; echo broken >&2; exit 1"], what="copy it")
