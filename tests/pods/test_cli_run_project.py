"""A project as people have them, trained on two ranks of a real server without a change to it."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.servers import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from support.command_line import CommandLine
    from support.servers import DevServer

WORD = "sesame-82d5"
PROJECT = {
    "pyproject.toml": '[project]\nname = "line"\nversion = "0"\n',
    "src/line/__init__.py": "",
    "src/line/data.py": """
import csv
import torch

def read(path, rank, world):
    with open(path) as file:
        points = [(float(x), float(y)) for x, y in csv.reader(file)][rank::world]
    return torch.tensor(points).T
""",
    "src/line/model.py": """
import torch

def line():
    torch.manual_seed(0)
    return torch.nn.Linear(1, 1)
""",
    "src/line/check.py": """
import os, sys
print("variables", os.environ["MODE"], os.environ["WANDB_API_KEY"], *sys.argv[1:], flush=True)
import time; time.sleep(float(os.environ["SECONDS_LEFT"]))
""",
    "scripts/train.py": """
import argparse, json
from pathlib import Path
import torch, torch.distributed as dist
from line.data import read
from line.model import line

settings = json.loads(Path("configs/small.json").read_text())
arguments = argparse.ArgumentParser()
arguments.add_argument("--steps", type=int)
steps = arguments.parse_args().steps
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
x, y = read("data/points.csv", rank, world)
model = torch.nn.parallel.DistributedDataParallel(line())
optimizer = torch.optim.SGD(model.parameters(), settings["rate"])
for step in range(steps):
    optimizer.zero_grad()
    loss = ((model(x[:, None])[:, 0] - y) ** 2).mean()
    loss.backward()
    optimizer.step()
weights = [round(each.item(), 2) for each in model.parameters()]
print("learnt", weights, "on", world, "from", len(x), flush=True)
if rank == 0:
    Path("out").mkdir(exist_ok=True)
    Path("out/weights.json").write_text(json.dumps(weights))
dist.destroy_process_group()
""",
    "scripts/again.py": """
import os, time
from pathlib import Path
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank, attempts = dist.get_rank(), Path("attempts")
count = len(attempts.read_text()) + 1 if attempts.exists() else 1
attempts.write_text("x" * count)
Path("pid").write_text(str(os.getpid()))
latest = torch.tensor(count)
dist.all_reduce(latest, dist.ReduceOp.MAX)
print("begun", rank, "attempt", latest.item(), flush=True)
for _ in range(3000 if latest == 1 else 3):
    dist.all_reduce(torch.ones(1))
    time.sleep(0.1)
print("done", rank, flush=True)
dist.destroy_process_group()
""",
    "configs/small.json": '{"rate": 0.1}',
    "data/points.csv": "".join(f"{x / 10},{2 * x / 10 + 1}\n" for x in range(-10, 10)),
    ".gitignore": "out/\n",
    "out/large": "x",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "line"
    for name, text in PROJECT.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def test_a_project_trains_on_two_ranks_as_it_is(
    command_line: CommandLine, project: Path, lab: DevServer
) -> None:
    shown = command_line.must("run", "lab", "scripts/train.py", "--steps", "200", cwd=project)
    learnt = sorted(line for line in shown.splitlines() if "learnt" in line)
    assert learnt == [f"[{rank}] learnt [2.0, 1.0] on 2 from 10" for rank in (0, 1)]
    command_line.must("cp", "lab:line/out/weights.json", "weights.json")
    assert json.loads((command_line.home / "weights.json").read_text()) == [2.0, 1.0]
    # What git ignores was not sent.
    assert lab.run("ls ~/line/out") == "weights.json"
    assert {"out", ".git"}.isdisjoint(lab.run("ls -A ~/line", 1).split())


def test_a_token_gets_to_the_run_and_nowhere_else(
    command_line: CommandLine, project: Path, lab: DevServer
) -> None:
    (project / ".env").write_text("MODE='off line'\nSECONDS_LEFT=300\n")
    command_line.environment["WANDB_API_KEY"] = WORD
    given = ("--env-file", ".env", "--secret", "WANDB_API_KEY")
    name = command_line.must(
        "run", "--detach", *given, "lab", "-m", "line.check", "a b", cwd=project
    ).strip()
    said = f"variables off line {WORD} a b"
    wait_until(lambda: command_line.must("logs", "lab").count(said) == 2, "both have it")
    places = "/proc/[0-9]*/cmdline ~/.devctl/runs/*/[!o]* /dev/shm /run/devctl /tmp ~/line"
    for rank in (0, 1):
        found = lab.run(f"grep -rls '[s]{WORD[1:]}' {places} || true", rank)
        assert found == ""
    assert WORD not in command_line.must("logs", "lab", "--list", "-o", "json")
    refused = command_line.fails(1, "run", "--overwrite", "lab", "scripts/train.py", cwd=project)
    assert f"run `{name}` is active on `lab`" in refused
    command_line.must("stop-run", "lab", name)


def test_any_command_runs_once_on_each_rank(command_line: CommandLine, project: Path) -> None:
    line = ("run", "lab", "--", "sh", "-c", 'echo "$NODE_RANK $1 $(pwd)"; exit 4', "sh", "a b")
    result = command_line(*line, cwd=project / "src")
    assert result.returncode == 4
    shown = sorted(result.stdout.decode().splitlines())
    assert shown == [f"[{rank}] {rank} a b /home/dev/line" for rank in (0, 1)]


def test_all_ranks_start_again_when_one_is_killed(
    command_line: CommandLine, project: Path, lab: DevServer
) -> None:
    line = ("run", "--max-restarts", "2", "lab", "scripts/again.py")
    running = command_line.start(*line, cwd=project)
    wait_until(lambda: command_line("logs", "lab").stdout.count(b"attempt 1\n") == 2, "both began")
    lab.run("kill -KILL $(cat ~/line/pid)", 1)
    shown, said = running.communicate(timeout=300)
    assert running.returncode == 0, said
    lines = sorted(line for line in shown.decode().splitlines() if line[4:8] in {"begu", "done"})
    assert lines == [
        *("[0] begun 0 attempt 1", "[0] begun 0 attempt 2", "[0] done 0"),
        *("[1] begun 1 attempt 1", "[1] begun 1 attempt 2", "[1] done 1"),
    ]
