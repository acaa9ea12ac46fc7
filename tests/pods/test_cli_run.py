"""A script on both ranks of a real server."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING

import pexpect
import pytest
from support.pipes import stands_still, unread
from support.servers import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.command_line import CommandLine
    from support.servers import DevServer

LINES = 100_000
PIPE = 1 << 16
# Several megabytes in all, so that some are still on their way when the script ends.
WIDTH = 60
NO_TEXT = b"caf\xe9 \xff\xfe\x80 \xf0\x9f\n"
# What torchrun gives each process, and what no two processes have in common.
TORCHRUNS = {"GROUP_RANK", "LOCAL_RANK", "OMP_NUM_THREADS", "RANK", "WORLD_SIZE", "_"}
TORCHRUNS |= {"GROUP_WORLD_SIZE", "ROLE_NAME", "ROLE_RANK", "ROLE_WORLD_SIZE"}
OWN = TORCHRUNS | {"OLDPWD", "PWD", "SHLVL", "TORCH_NCCL_ASYNC_ERROR_HANDLING"}
SCRIPTS = {
    "lines.py": f"for number in range({LINES}): print(str(number).ljust({WIDTH}))",
    "fails.py": (
        "import os, time\n"
        "print('about to fail', flush=True)\n"
        "if os.environ['RANK'] == '1': print('no such luck', flush=True); os._exit(3)\n"
        "time.sleep(300)\n"
    ),
    "waits.py": "import time\nprint('waiting', flush=True)\ntime.sleep(300)\n",
    "tells.py": (
        "import json, os, sys\n"
        "print(json.dumps(dict(os.environ)), flush=True)\n"
        f"sys.stdout.buffer.write({NO_TEXT!r})\n"
    ),
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


def test_both_ranks_train_together(
    command_line: CommandLine, project: Path, lab: DevServer
) -> None:
    assert len({pod["spec"]["nodeName"] for pod in lab.get("pod")}) == 2
    shown = command_line.must("run", "lab", "sums.py", cwd=project)
    lines = sorted(line for line in shown.splitlines() if "sum" in line)
    assert lines == ["[0] sum 3.0", "[1] sum 3.0"]


def slowly(
    command_line: CommandLine, begin: Callable[[], bool], *args: str, cwd: Path, pause: float = 0
) -> list[str]:
    """The lines of a command's output, read piece by piece once its pipe is full and it is time."""
    said = b""
    with command_line.start(*args, cwd=cwd) as running:
        assert running.stdout
        pipe = running.stdout.fileno()
        stands = stands_still(lambda: unread(pipe))
        wait_until(lambda: stands() and begin(), lambda: f"{unread(pipe)} bytes")
        while piece := os.read(pipe, PIPE):
            said += piece
            time.sleep(pause)
    assert running.returncode == 0
    return said.decode().splitlines()


def has_ended(lab: DevServer) -> bool:
    """Whether the latest run has ended on both ranks.

    The last line does not tell: torchrun on rank 1 reports an error of its exit barrier where
    rank 0, which keeps the store of both, is gone first.
    """
    look = "latest=$(ls -td .devctl/runs/*/ | head -n 1); ls $latest"
    return all("exit" in lab.run(look, rank).split() for rank in (0, 1))


def complete(shown: list[str], rank: int) -> bool:
    """Whether all that a rank has printed is there, in order."""
    own = (line[4:].strip() for line in shown if line.startswith(f"[{rank}] "))
    return [line for line in own if line.isdecimal()] == [str(n) for n in range(LINES)]


def test_many_lines_arrive_complete_and_in_order_whoever_reads(
    command_line: CommandLine, project: Path, lab: DevServer
) -> None:
    shown = slowly(command_line, lambda: has_ended(lab), "run", "lab", "lines.py", cwd=project)
    assert [complete(shown, rank) for rank in (0, 1)] == [True, True]
    logs = ("logs", "lab", "--replica", "1")
    shown = slowly(command_line, lambda: True, *logs, cwd=project, pause=0.02)
    assert [complete(shown, rank) for rank in (0, 1)] == [False, True]
    shown = command_line.must("logs", "lab", "--replica", "0", "--tail", "2").splitlines()
    assert [line[4:].strip() for line in shown] == [str(LINES - 2), str(LINES - 1)]


def test_the_environment_is_exactly_the_servers_and_what_is_no_text_is_printed_as_it_is(
    command_line: CommandLine, project: Path, lab: DevServer
) -> None:
    shown = command_line("run", "lab", "tells.py", cwd=project).stdout
    for rank in (0, 1):
        head = f"[{rank}] ".encode()
        assert head + NO_TEXT in shown
        line = next(line[4:] for line in shown.splitlines() if line.startswith(head + b"{"))
        training = json.loads(line)
        program = "import json, os; print(json.dumps(dict(os.environ)))"
        server = json.loads(lab.run(f"python3 -c '{program}'", rank))
        assert {training["RANK"], training["WORLD_SIZE"]} == {str(rank), "2"}
        further = {
            name
            for name in training.keys() | server.keys()
            if training.get(name) != server.get(name) and not name.startswith("TORCHELASTIC_")
        }
        assert further <= OWN
    logs = command_line("logs", "lab", "--replica", "0", "--tail", "1")
    assert (logs.returncode, logs.stdout) == (0, b"[0] " + NO_TEXT)


def test_the_first_failure_is_shown_and_ends_all(
    command_line: CommandLine, project: Path, lab: DevServer
) -> None:
    result = command_line("run", "lab", "fails.py", cwd=project)
    said = result.stderr.decode() + result.stdout.decode()
    assert result.returncode == 3, said
    last = said.partition("the last lines of replica 1, which failed first:")[2]
    assert "no such luck" in last
    assert "replica 1 ended with exit code 3" in last
    wait_until(lambda: left(lab) == "", lambda: f"nothing goes on: {left(lab)}")


def test_ctrl_c_ends_all_ranks(command_line: CommandLine, project: Path, lab: DevServer) -> None:
    running = command_line.terminal("run", "lab", "waits.py", cwd=project)
    for _ in range(2):
        running.expect("waiting")
    running.sendintr()
    running.expect("was ended")
    running.expect(pexpect.EOF)
    running.close()
    assert running.exitstatus == 130
    wait_until(lambda: left(lab) == "", lambda: f"nothing goes on: {left(lab)}")


def test_it_goes_on_without_us_and_can_be_read_and_ended(
    command_line: CommandLine, project: Path, lab: DevServer
) -> None:
    name = command_line.must("run", "--detach", "lab", "waits.py", cwd=project).strip()
    following = command_line.start("logs", "lab", "-f")
    wait_until(lambda: "waiting" in command_line.must("logs", "lab"), "it has printed")
    following.send_signal(signal.SIGINT)
    assert following.wait(timeout=20) == 130
    assert left(lab)
    attached = command_line.terminal("attach", "lab", name)
    attached.expect("waiting")
    command_line.must("stop-run", "lab")
    attached.expect(f"run `{name}` has failed")
    attached.close()
    wait_until(lambda: left(lab) == "", "it has ended")
    assert name in command_line.must("logs", "--list", "lab", "-o", "name")


def test_a_pod_that_is_killed_is_told_first(
    command_line: CommandLine, project: Path, lab: DevServer
) -> None:
    running = command_line.start("run", "lab", "waits.py", cwd=project)
    assert running.stdout
    assert running.stderr
    # Before replica 1 has begun, its pod's end is a run that could not be started.
    begun = (line for line in running.stdout if line.endswith(b"waiting\n"))
    assert {next(begun), next(begun)} == {b"[0] waiting\n", b"[1] waiting\n"}
    killed = lab.kill(1)
    told = next(line for line in running.stderr if line.startswith(b"replica "))
    # The other one, which cannot go on alone, has not been ended before.
    assert told.startswith(b"replica 1: pod `lab-1` ")
    errors = running.stderr.read()
    assert running.wait(timeout=60) == 1
    assert b"error: replica 1: " in errors
    lab.wait_for_successor(1, killed)
    wait_until(lambda: left(lab) == "", "nothing goes on")
