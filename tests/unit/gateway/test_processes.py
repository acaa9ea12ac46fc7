"""Several processes of one replica, as a program of their own: they are killed and ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from devctl_gateway import serve as serving
from devctl_gateway.serve import serve
from devctl_gateway.settings import Settings

from unit.patience import FOREVER, PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = 3
# Each counts once, says who it is, and waits.
PROGRAM = f"""
import os, sys, time
from devctl_gateway.http.metrics import Metrics
from devctl_gateway.processes import run_several

metrics = Metrics({COUNT})

def run():
    metrics.requests.labels("GET", "/", 200).inc()
    os.write(1, b"%d\\n" % os.getpid())  # at once, or lines of others come in between
    time.sleep({FOREVER})

code = run_several({COUNT}, run)
print(metrics.page().body.decode())
sys.exit(code)
"""


@contextmanager
def running(folder: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A replica and its processes, which are ended with the test whatever becomes of them."""
    code = os.pathsep.join(sys.path)  # as pytest has it
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(folder), "PYTHONPATH": code}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        assert parent.stdout
        pids: list[int] = []
        try:
            pids += [int(parent.stdout.readline()) for _ in range(COUNT)]
            yield parent, pids
        finally:
            parent.kill()
            for pid in filter(_runs, pids):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def have_ended(pids: list[int]) -> bool:
    """Whether none of them runs."""
    return not any(map(_runs, pids))


def _runs(pid: int) -> bool:
    """Whether it is one of these processes; a zombie, or another one of its number, is none."""
    try:
        return PROGRAM.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_they_end_together_and_have_counted_together(tmp_path: Path) -> None:
    with running(tmp_path) as (parent, pids):
        parent.terminate()
        assert parent.wait(PATIENCE) == 0
        eventually(lambda: have_ended(pids))
        assert parent.stdout
        (counted,) = re.findall(
            r"^gateway_requests_total\{.*\} (.*)$", parent.stdout.read(), re.MULTILINE
        )
    assert float(counted) == COUNT


def test_one_that_dies_takes_the_replica_with_it(tmp_path: Path) -> None:
    with running(tmp_path) as (parent, pids):
        os.kill(pids[0], signal.SIGKILL)
        assert parent.wait(PATIENCE) == 1
        eventually(lambda: have_ended(pids))


def test_none_outlives_a_parent_that_dies(tmp_path: Path) -> None:
    with running(tmp_path) as (parent, pids):
        parent.kill()
        eventually(lambda: have_ended(pids))


@pytest.mark.parametrize("processes", [1, 2])
def test_the_folder_to_count_in_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, processes: int
) -> None:
    folder = tmp_path / "figures"
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(folder))
    started = []

    async def end(settings: Settings) -> None:
        started.append(settings)

    monkeypatch.setattr(serving, "_serve", end)
    monkeypatch.setattr(serving, "run_several", lambda _, run: run() or 0)
    assert serve(Settings("sqlite+aiosqlite://", processes=processes)) == 0
    assert started
    assert folder.is_dir()


def test_several_need_a_folder_to_count_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    with pytest.raises(ValueError, match="set PROMETHEUS_MULTIPROC_DIR"):
        serve(Settings("sqlite+aiosqlite://", processes=2))


@pytest.mark.parametrize("processes", [0, 5])
def test_there_are_a_few_at_most(processes: int) -> None:
    with pytest.raises(ValueError, match="GATEWAY_PROCESSES is from 1 to 4"):
        Settings("sqlite+aiosqlite://", processes=processes)
