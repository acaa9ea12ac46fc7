from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from unit.devserver_files.conftest import catches_term, status
from unit.patience import FOREVER, PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from unit.devserver_files.conftest import Container

SHORT = {"limit=200": "limit=6"}
LONG = {"limit=200": "limit=36000"}
"""An hour, so what is seen does not come from a limit."""
# Takes its time over what it writes: until it is waited for.
SAVES = """
import os, signal, sys, time
def save(*_):
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.01)
    open(sys.argv[1], "w").write("saved")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
"""
HANGS_UP = """
import os, signal, subprocess, sys, time
# Its own output, or the first line could be either's.
worker = subprocess.Popen([sys.executable, "-c", *sys.argv[2:]], stdout=subprocess.DEVNULL)
def end(*_):
    worker.send_signal(signal.SIGKILL)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGHUP, end)
open("/proc/self/comm", "w").write(sys.argv[1])
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
        self.shown: list[int] = []
        """File descriptors of all processes, which stay theirs whatever becomes of the number."""
        self.naps = container.root / "naps"
        """A line for each time that the script has waited."""

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
        self.shown.append(os.pidfd_open(pid))

    def stop(self, limit: Mapping[str, str] = LONG, env: Mapping[str, str] | None = None) -> int:
        """Run the script; how often it waited, for two tenths of a second each time."""
        nap = "if sleep 0.2 2>/dev/null; then"
        more = {**limit, nap: f'echo >>"{self.naps}"\n    {nap}'}
        assert self.container.run("stop", env=env, more=more) == (0, "", "")
        return self.naps.read_text().count("\n") if self.naps.exists() else 0


@pytest.fixture
def pod(container: Container) -> Iterator[Pod]:
    pod = Pod(container)
    yield pod
    for shown in pod.shown:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(shown, signal.SIGKILL)
        os.close(shown)
    for process in pod.processes:
        process.communicate()


def test_nothing_to_stop_takes_no_time(pod: Pod) -> None:
    ready = pod.container.root / "run/devctl/ready"
    ready.touch()

    assert pod.stop() == 0
    assert not ready.exists()


def test_a_program_gets_to_write_what_it_has(pod: Pod, tmp_path: Path) -> None:
    pod.runs(SAVES, str(tmp_path / "saved"), str(pod.naps))

    assert pod.stop() > 0
    assert (tmp_path / "saved").read_text() == "saved"


@pytest.mark.parametrize("name", ["tmux: server", "sshd-session"])
def test_what_holds_a_terminal_goes_after_what_runs_in_it(
    pod: Pod, tmp_path: Path, name: str
) -> None:
    saved = tmp_path / "saved"
    holder = pod.runs(HANGS_UP, name, SAVES + WAITS, str(saved), str(pod.naps))
    worker = int(pod.said[holder.pid])
    pod.shows(worker)
    # Until the worker has its handler.
    eventually(lambda: catches_term(worker))

    pod.stop()

    assert saved.read_text() == "saved"
    assert holder.wait(PATIENCE) == 0


def test_a_shell_that_does_not_listen_to_term_is_hung_up(pod: Pod) -> None:
    # Whoever runs the tests under nohup hands an ignored SIGHUP down to them.
    listens = "import signal, time\nsignal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
    shell = pod.runs(f"{listens}signal.signal(signal.SIGTERM, signal.SIG_IGN)\n")

    pod.stop()

    assert shell.wait(PATIENCE) == -signal.SIGHUP


def test_a_stopped_job_ends_too(pod: Pod) -> None:
    job = pod.runs("import time\n")
    job.send_signal(signal.SIGSTOP)
    eventually(lambda: "State:\tT" in status(job.pid))

    pod.stop()

    assert job.wait(PATIENCE) == -signal.SIGTERM


def test_whoever_does_not_end_is_given_up_on(pod: Pod) -> None:
    stubborn = pod.runs("import signal, time\nsignal.signal(signal.SIGTERM, lambda *_: None)\n")

    assert pod.stop(SHORT) == 3
    assert stubborn.poll() is None


def test_the_limit_leaves_the_rest_of_the_grace_period_for_the_end(container: Container) -> None:
    assert "\nlimit=200 " in container.script("stop", {}).read_text()


def test_the_sleeper_and_the_first_script_are_spared(pod: Pod) -> None:
    first = pod.runs(
        "import subprocess, time\n"
        f"sleeper = subprocess.Popen(['sleep', '{FOREVER}'])\n"
        "print(sleeper.pid, flush=True)\n"
    )
    sleeper = int(pod.said[first.pid])
    pod.shows(sleeper)
    (pod.container.root / "run/devctl/sleeper").write_text(f"{sleeper}\n")

    assert pod.stop() == 0
    assert first.poll() is None
    assert "State:\tS" in status(sleeper)


def test_whoever_called_it_is_spared(pod: Pod) -> None:
    shows_itself = f'ln -s /proc/$$ "{pod.proc}/$$"'
    script = pod.container.script("stop", SHORT)
    caller = f"{shows_itself}; sh -c '{shows_itself}; exec sh \"$0\"' {script}; echo spared"

    ended = subprocess.run(
        [shutil.which("sh") or "sh", "-c", caller], capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stdout) == (0, "spared\n")


def test_a_sleep_that_knows_no_fractions_will_do(pod: Pod, tmp_path: Path) -> None:
    pod.runs(SAVES, str(tmp_path / "saved"), str(pod.naps))
    env = pod.container.program_on_path(
        "sleep", 'case $1 in *.*) exit 1 ;; esac\nPATH=${PATH#*:} exec sleep "$1"'
    )

    assert pod.stop(env=env) > 0
    assert (tmp_path / "saved").read_text() == "saved"
