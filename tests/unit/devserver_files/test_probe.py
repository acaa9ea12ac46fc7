"""The loop that asks an activity probe, with real processes and a real HTTP server."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from unit.patience import FOREVER, PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from unit.devserver_files.conftest import Container

    Words = Mapping[str, str]

ANSWER = "run/devctl/probe"
SOON = {"DEVCTL_PROBE_TIMEOUT": "1"}
LATE = "unknown the probe did not end within 1 s\n"


@contextmanager
def asked(
    container: Container, *words: str, env: Words | None = None, more: Words | None = None
) -> Iterator[None]:
    """The loop, which asks often."""
    uptime = container.root / "proc/uptime"
    if not uptime.exists():
        uptime.symlink_to("/proc/uptime")
    times = {"DEVCTL_PROBE_PERIOD": "0.1", "DEVCTL_PROBE_TIMEOUT": "20"}
    env = {"DEVCTL_PROBE": shlex.join(words), **times, **(env or {})}
    process = container.start("probe", env=env, more=more)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
    assert (out, err) == ("", "")


def uptime() -> float:
    """Seconds since boot."""
    return float(Path("/proc/uptime").read_text().split()[0])


def first_answer(
    container: Container, *words: str, env: Words | None = None, more: Words | None = None
) -> str:
    """What the loop writes down at first, without the time."""
    began = uptime()
    with asked(container, *words, env=env, more=more):
        eventually((container.root / ANSWER).exists)
        at, _, said = (container.root / ANSWER).read_text().partition(" ")
    assert began <= float(at) <= uptime()
    return said


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 0", "active"),
        ("exit 1", "idle"),
        ("exit 2", "unknown the probe ended with exit code 2"),
        ("kill -KILL $$", "unknown the probe ended with exit code 137"),
        ("echo noise; echo noise >&2; cat; exit 1", "idle"),
    ],
)
def test_the_exit_code_is_the_answer(container: Container, script: str, said: str) -> None:
    assert first_answer(container, "exec", "sh", "-c", script) == f"{said}\n"


def test_a_loop_that_is_ended_while_it_asks_keeps_nobody_waiting(container: Container) -> None:
    began = container.root / "began"
    with asked(container, "exec", "sh", "-c", f"touch {began}; exec sleep {FOREVER}"):
        eventually(began.exists)


@pytest.mark.parametrize("script", [f"sleep {FOREVER}", "trap '' TERM; while :; do sleep 1; done"])
def test_a_probe_gets_some_time_only(container: Container, script: str) -> None:
    assert first_answer(container, "exec", "sh", "-c", script, env=SOON) == LATE


def test_a_command_that_does_not_exist_is_unknown(container: Container) -> None:
    said = first_answer(container, "exec", "/no/such/probe")
    assert said.startswith("unknown the probe ended with exit code 12")


def test_arguments_reach_the_command_as_they_are(container: Container) -> None:
    words = ["a b", "$HOME", "'", '"', "*", "", "`id`", "x\ny", "\\n"]
    script = 'printf "%s|" "$@" >said; pwd >>said; exit 1'
    assert first_answer(container, "exec", "sh", "-c", script, "sh", *words) == "idle\n"
    home = container.root / "home/dev"
    assert (home / "said").read_text() == "".join(f"{word}|" for word in words) + f"{home}\n"


def test_it_is_asked_again(container: Container) -> None:
    home = container.root / "home/dev"
    with asked(container, "exec", "test", "-e", "busy"):
        answer = container.root / ANSWER
        eventually(lambda: answer.exists() and answer.read_text().endswith(" idle\n"))
        (home / "busy").touch()
        eventually(lambda: answer.read_text().endswith(" active\n"))
        assert oct(answer.stat().st_mode)[-3:] == "644"


def test_a_probe_that_hangs_is_ended_with_all_that_it_started(container: Container) -> None:
    script = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ >pid; while :; do sleep 1; done'"
    home = container.root / "home/dev"
    # Its time begins when all of it has started.
    more = {'sleep "$2" &': f'while ! [ -s "{home}/pid" ]; do sleep 0.05; done\n  sleep "$2" &'}
    try:
        assert first_answer(container, "exec", "sh", "-c", script, env=SOON, more=more) == LATE
        pid = int((home / "pid").read_text())
        eventually(lambda: not Path(f"/proc/{pid}").exists())
    finally:
        with suppress(OSError, ValueError):
            os.kill(int((home / "pid").read_text()), signal.SIGKILL)


def test_an_answer_in_the_way_is_replaced(container: Container) -> None:
    secret = container.root / "secret"
    secret.write_text("untouched")
    (container.root / "run/devctl/probe.new").symlink_to(secret)
    (container.root / ANSWER).symlink_to(secret)
    with asked(container, "exec", "true"):
        eventually(lambda: not (container.root / ANSWER).is_symlink())
    assert secret.read_text() == "untouched"


# Answers `/CODE` with that status, and `/hang` never. It has a process of its own, since unit tests
# open no sockets.
SERVER = """
import http.server, threading
class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/hang":
            threading.Event().wait()
        self.send_response(int(self.path[1:4]))
        if self.path.startswith("/302"):
            self.send_header("Location", "/200")
        self.end_headers()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="module")
def port() -> Iterator[str]:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert server.stdout
    yield server.stdout.readline().strip()
    server.kill()
    server.communicate()


def tools(container: Container, *names: str) -> str:
    """A PATH with some programs, and what the loop needs."""
    folder = container.root / "tools"
    folder.mkdir()
    for name in ("sleep", "rm", "mv", "chmod", "setsid", "sh", *names):
        # What is first in PATH may be a script of a version manager, which needs more than this.
        if found := sys.executable if name == "python3" else shutil.which(name):
            (folder / name).symlink_to(found)
    return str(folder)


@pytest.mark.parametrize("program", ["curl", "python3", "wget"])
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/200", "active"),
        ("/204", "idle"),
        ("/201", "unknown port {} answers with HTTP status 2xx"),
        ("/302", "unknown port {} answers with HTTP status 3xx"),
        ("/503?a=[1]&b={2}", "unknown port {} answers with HTTP status 5xx"),
    ],
)
def test_the_status_is_the_answer(
    container: Container, port: str, program: str, path: str, said: str
) -> None:
    if not shutil.which(program):
        pytest.skip(f"this machine has no {program}")
    env = {"PATH": tools(container, program), "http_proxy": "http://127.0.0.1:9"}
    assert first_answer(container, "http", port, path, env=env) == f"{said.format(port)}\n"


@pytest.mark.parametrize("program", ["curl", "python3", "wget"])
def test_a_server_that_never_answers_is_unknown(
    container: Container, port: str, program: str
) -> None:
    if not shutil.which(program):
        pytest.skip(f"this machine has no {program}")
    env = {"PATH": tools(container, program)} | SOON
    assert first_answer(container, "http", port, "/hang", env=env) == LATE


@pytest.mark.parametrize("program", ["curl", "python3", "wget"])
def test_a_port_without_a_server_is_unknown(container: Container, program: str) -> None:
    if not shutil.which(program):
        pytest.skip(f"this machine has no {program}")
    env = {"PATH": tools(container, program)}
    assert first_answer(container, "http", "9", "/", env=env) == "unknown port 9 does not answer\n"


def test_without_a_program_for_http_it_says_so(container: Container) -> None:
    said = first_answer(container, "http", "9", "/", env={"PATH": tools(container)})
    if container.program == "busybox":  # it has a `wget`
        assert said == "unknown port 9 does not answer\n"
    else:
        assert said == "unknown the image has no curl, python3 or wget\n"
