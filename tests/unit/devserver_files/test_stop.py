from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from unit.devserver_files.conftest import catches_term, eventually, status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from unit.devserver_files.conftest import Container

SHORT = {"limit=200": "limit=6"}
LONG = 5
"""Seconds: less than the 20 for which a program that does not end is waited for."""
# Takes its time over what it writes.
SAVES = """
import signal, sys, time
def save(*_):
    time.sleep(0.2)
    open(sys.argv[1], "w").write("saved")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
"""
HANGS_UP = """
import os, signal, subprocess, sys, time
worker = subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2]])
def end(*_):
    worker.send_signal(signal.SIGKILL)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGHUP, end)
open("/proc/self/comm", "w").write(sys.argv[3])
print(worker.pid, flush=True)
"""
WAITS = 'print("up", flush=True)\nwhile True: time.sleep(60)\n'


class Pod:
    """Processes that the container's /proc shows; every one is ended with the test."""

    def __init__(self, container: Container) -> None:
        self.container = container
        self.proc = container.root / "proc"
        self.processes: list[subprocess.Popen[str]] = []
        self.said: dict[int, str] = {}

    def runs(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", program + WAITS, *arguments], stdout=subprocess.PIPE, text=True
        )
        self.processes.append(process)
        assert process.stdout
        self.said[process.pid] = process.stdout.readline()
        self.shows(process.pid)
        return process

    def shows(self, pid: int) -> None:
        (self.proc / str(pid)).symlink_to(f"/proc/{pid}")

    def stop(self, limit: Mapping[str, str] = SHORT) -> float:
        """Run the script; how long it took."""
        begun = time.monotonic()
        assert self.container.run("stop", more=limit) == (0, "", "")
        return time.monotonic() - begun


@pytest.fixture
def pod(container: Container) -> Iterator[Pod]:
    pod = Pod(container)
    yield pod
    for process in pod.processes:
        process.kill()
        process.communicate()


def test_nothing_to_stop_takes_no_time(pod: Pod) -> None:
    ready = pod.container.root / "run/devctl/ready"
    ready.touch()

    assert pod.stop({}) < LONG
    assert not ready.exists()


def test_a_program_gets_to_write_what_it_has(pod: Pod, tmp_path: Path) -> None:
    pod.runs(SAVES, str(tmp_path / "saved"))

    assert 0.15 < pod.stop() < 3
    assert (tmp_path / "saved").read_text() == "saved"


@pytest.mark.parametrize("name", ["tmux: server", "sshd-session"])
def test_what_holds_a_terminal_goes_after_what_runs_in_it(
    pod: Pod, tmp_path: Path, name: str
) -> None:
    holder = pod.runs(HANGS_UP, SAVES + WAITS, str(tmp_path / "saved"), name)
    worker = int(pod.said[holder.pid])
    pod.shows(worker)
    # Until the worker has its handler.
    eventually(lambda: catches_term(worker))

    pod.stop()

    assert (tmp_path / "saved").read_text() == "saved"
    assert holder.wait(5) == 0


def test_a_shell_that_does_not_listen_to_term_is_hung_up(pod: Pod) -> None:
    # Whoever runs the tests under nohup hands an ignored SIGHUP down to them.
    listens = "import signal, time\nsignal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
    shell = pod.runs(f"{listens}signal.signal(signal.SIGTERM, signal.SIG_IGN)\n")

    pod.stop()

    assert shell.wait(5) == -signal.SIGHUP


def test_a_stopped_job_ends_too(pod: Pod) -> None:
    job = pod.runs("import time\n")
    job.send_signal(signal.SIGSTOP)
    eventually(lambda: "State:\tT" in status(job.pid))

    pod.stop()

    assert job.wait(5) == -signal.SIGTERM


def test_whoever_does_not_end_is_given_up_on(pod: Pod) -> None:
    stubborn = pod.runs("import signal, time\nsignal.signal(signal.SIGTERM, lambda *_: None)\n")

    assert 0.5 < pod.stop() < 5
    assert stubborn.poll() is None


def test_the_limit_leaves_the_rest_of_the_grace_period_for_the_end(container: Container) -> None:
    assert "\nlimit=200 " in container.script("stop", {}).read_text()


def test_the_sleeper_and_the_first_script_are_spared(pod: Pod) -> None:
    first = pod.runs(
        "import subprocess, time\n"
        "sleeper = subprocess.Popen(['sleep', '60'])\n"
        "print(sleeper.pid, flush=True)\n"
    )
    sleeper = int(pod.said[first.pid])
    pod.shows(sleeper)
    (pod.container.root / "run/devctl/sleeper").write_text(f"{sleeper}\n")

    assert pod.stop({}) < LONG
    assert first.poll() is None
    assert "State:\tS" in status(sleeper)
    os.kill(sleeper, signal.SIGKILL)


def test_whoever_called_it_is_spared(pod: Pod) -> None:
    shows_itself = f'ln -s /proc/$$ "{pod.proc}/$$"'
    script = pod.container.script("stop", SHORT)
    caller = f"{shows_itself}; sh -c '{shows_itself}; exec sh \"$0\"' {script}; echo spared"

    ended = subprocess.run(
        [shutil.which("sh") or "sh", "-c", caller], capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stdout) == (0, "spared\n")


def test_a_sleep_that_knows_no_fractions_will_do(pod: Pod, tmp_path: Path) -> None:
    pod.runs(SAVES, str(tmp_path / "saved"))
    env = pod.container.program_on_path(
        "sleep", 'case $1 in *.*) exit 1 ;; esac\nPATH=${PATH#*:} exec sleep "$1"'
    )

    assert pod.container.run("stop", env=env, more=SHORT)[0] == 0
    assert (tmp_path / "saved").read_text() == "saved"
