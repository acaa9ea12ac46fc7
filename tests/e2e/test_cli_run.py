"""A script on both ranks of a real server."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest
from e2e.servers import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from e2e.command_line import CommandLine
    from e2e.servers import DevServer

LINES = 100_000
SCRIPTS = {
    "lines.py": f"for number in range({LINES}): print(number)",
    "fails.py": (
        "import os, sys, time\n"
        "print('about to fail', flush=True)\n"
        "if os.environ['RANK'] == '1': sys.exit('no such luck')\n"
        "time.sleep(300)\n"
    ),
    "waits.py": "import time\nprint('waiting', flush=True)\ntime.sleep(300)\n",
    "sums.py": (
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "one = torch.ones(1) * (dist.get_rank() + 1)\n"
        "dist.all_reduce(one)\n"
        "print('sum', one.item())\n"
        "dist.destroy_process_group()\n"
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    for name, text in SCRIPTS.items():
        (folder / name).write_text(text)
    return folder


def left(lab: DevServer) -> str:
    """Scripts of ours that still run on a rank."""
    look = "pgrep -af '[.]py' | grep -E 'waits|fails|lines|sums' | grep -v pgrep || true"
    return "".join(lab.run(look, rank) for rank in (0, 1))


def test_both_ranks_train_together(command_line: CommandLine, project: Path) -> None:
    shown = command_line.must("run", "lab", "sums.py", cwd=project)
    lines = sorted(line for line in shown.splitlines() if "sum" in line)
    assert lines == ["[0] sum 3.0", "[1] sum 3.0"]


def test_many_lines_arrive_complete_and_in_order(command_line: CommandLine, project: Path) -> None:
    shown = command_line.must("run", "lab", "lines.py", cwd=project, timeout=180)
    for rank in ("0", "1"):
        own = [line[4:] for line in shown.splitlines() if line.startswith(f"[{rank}] ")]
        assert [line for line in own if line.isdecimal()] == [str(n) for n in range(LINES)]


def test_the_first_failure_is_shown_and_ends_all(
    command_line: CommandLine, project: Path, lab: DevServer
) -> None:
    result = command_line("run", "lab", "fails.py", cwd=project)
    said = result.stderr.decode() + result.stdout.decode()
    assert result.returncode == 1, said
    assert "no such luck" in said
    wait_until(lambda: left(lab) == "", f"nothing goes on: {left(lab)}")


def test_ctrl_c_ends_all_ranks(command_line: CommandLine, project: Path, lab: DevServer) -> None:
    running = command_line.terminal("run", "lab", "waits.py", cwd=project)
    for _ in range(2):
        running.expect("waiting")
    running.sendintr()
    running.expect_exact("", timeout=1)
    running.wait()
    assert running.exitstatus == 130
    wait_until(lambda: left(lab) == "", f"nothing goes on: {left(lab)}")


def test_it_goes_on_without_us_and_can_be_read_and_ended(
    command_line: CommandLine, project: Path, lab: DevServer
) -> None:
    command_line.must("run", "--detach", "lab", "waits.py", cwd=project)
    following = command_line.start("logs", "lab", "-f")
    wait_until(lambda: "waiting" in command_line.must("logs", "lab"), "it has printed")
    following.send_signal(signal.SIGINT)
    assert following.wait(timeout=20) == 130
    assert left(lab)
    command_line.must("stop-run", "lab")
    wait_until(lambda: left(lab) == "", "it has ended")


def test_a_pod_that_is_killed_is_told_soon(
    command_line: CommandLine, project: Path, lab: DevServer
) -> None:
    running = command_line.start("run", "lab", "waits.py", cwd=project)
    wait_until(lambda: left(lab).count("waits.py") >= 2, "both run", 60)
    lab.kubectl("-n", lab.namespace, "delete", "pod", "lab-1", "--grace-period=0", "--force")
    begun = time.monotonic()
    output, errors = running.communicate(timeout=60)
    assert time.monotonic() - begun < 20
    assert running.returncode not in {0, None}
    assert b"lab-1" in output + errors
    lab.wait("Ready", seconds=120)
    wait_until(lambda: left(lab) == "", "nothing goes on")
