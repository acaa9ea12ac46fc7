"""Runs as a person types them, on ranks that are folders of this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from devctl.cli import replica_output
from devctl.client.runs import command
from unit.client.objects import PODS, SERVERS, pod, server
from unit.client.pods import pods
from unit.client.run_things import Ranks, ranks, running
from unit.patience import FOREVER, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from unit.cli.conftest import Devctl, Outcome
    from unit.client.fake_cluster import FakeApi

SAYS = """
import os, sys
print("rank", os.environ["NODE_RANK"], *sys.argv[1:])
"""
FAILS = f"""
import os, sys, time
print("begun")
if os.environ["NODE_RANK"] == "1":
    print("it broke", file=sys.stderr)
    sys.exit(7)
time.sleep({FOREVER})
"""
SLEEPS = f"import time\nprint('begun', flush=True)\ntime.sleep({FOREVER})\n"


@pytest.fixture
def lab(api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ranks]:
    pods(monkeypatch, tmp_path)
    made = ranks(api, tmp_path, monkeypatch)
    yield made
    made.end()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "here" / "project"
    folder.mkdir(parents=True)
    (folder / "train.py").write_text(SAYS)
    (folder / "data").mkdir()
    (folder / "data" / "a b").write_text("x")
    (folder / ".env").write_text("PASSWORD=x")
    return folder


def test_a_folder_is_sent_and_its_script_run_on_every_rank(
    lab: Ranks, project: Path, devctl: Devctl
) -> None:
    found = devctl("run", "lab", str(project / "train.py"), "--batch-size", "32", "-n", "a b")

    assert found.code == 0
    assert sorted(found.stdout.splitlines()) == [
        f"[{rank}] rank {rank} --batch-size 32 -n a b" for rank in (0, 1)
    ]
    lines = found.stderr.splitlines()
    for rank in (0, 1):
        assert lines[rank].startswith(f"lab-{rank}:/home/dev/project: 2 files, ")
        assert "`train.py`" in lines[rank]
        assert (lab.home(rank) / "project/data/a b").read_text() == "x"
        assert not (lab.home(rank) / "project/.env").exists()
    assert lines[2] == "left out, as they look like secrets: `.env`"
    assert lines[3].startswith("train-")
    assert lines[3].endswith(" runs on 2 replicas; Ctrl-C ends it")
    again = devctl("run", "lab", str(project / "train.py"))
    assert again.stderr.startswith("lab-0:/home/dev/project: nothing has changed\n")


def git(folder: Path, *words: str) -> None:
    own = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A project of several folders, whose script needs a package, a module and a file."""
    root = tmp_path / "here" / "vision"
    files = {
        "pyproject.toml": "",
        "src/vision/__init__.py": "",
        "src/vision/model.py": "NAME = 'small'\n",
        "src/vision/train.py": "import sys\nfrom vision.model import NAME\n"
        "print(NAME, *sys.argv[1:])\n",
        "tools/shared.py": "WORD = 'found'\n",
        "scripts/train.py": "import sys, vision.model, tools.shared\n"
        "print(vision.model.NAME, tools.shared.WORD, open('config.txt').read(), *sys.argv[1:])\n",
        "config.txt": "lr=1",
        ".gitignore": "data/\n",
        "data/big": "",
        "Makefile": "train:\n\t@echo made $(WHAT)\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "init", "-q")
    return root


def both(found: Outcome, line: str) -> bool:
    """Whether both ranks have printed a line, and no more."""
    return sorted(found.stdout.splitlines()) == [f"[0] {line}", f"[1] {line}"]


def test_a_repository_goes_along_and_is_the_working_directory(
    lab: Ranks, repository: Path, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "scripts")
    found = devctl("run", "lab", "train.py", "--lr", "1")
    assert both(found, "small found lr=1 --lr 1"), found
    sent = {file.name for file in (lab.home(1) / "vision").iterdir()}
    assert sent == {
        "pyproject.toml",
        "src",
        "scripts",
        "tools",
        "config.txt",
        ".gitignore",
        "Makefile",
    }
    name = found.stderr.splitlines()[-1].split()[0]
    assert name.startswith("train-")
    monkeypatch.chdir(repository.parent)
    found = devctl("run", "--workdir", "vision", "lab", "-m", "vision.train", "-m", "-d")
    assert both(found, "small -m -d"), found
    monkeypatch.chdir(repository / "src" / "vision")
    found = devctl("run", "lab", "--", "make", "train", "WHAT=it")
    assert both(found, "made it"), found
    assert not [call for call in lab.calls if call[1] == "begin" and "make" in call]


def test_variables_reach_the_run_and_nothing_else(
    lab: Ranks, project: Path, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "sesame")
    (project / "train.py").write_text("import os\nprint(*(os.environ[n] for n in ['A', 'TOKEN']))")
    file = project / ".env"
    file.write_text("A='open it'\n")
    line = ("--env-file", str(file), "--secret", "TOKEN", "lab", str(project / "train.py"))
    found = devctl("-vv", "run", *line)
    assert both(found, "open it sesame"), found
    listed = devctl("logs", "lab", "--list", "-o", "json").stdout
    words = [str(call) for call in lab.calls]
    for told in (found.stderr, listed, *words):
        assert "sesame" not in told
        assert "open it" not in told
    assert devctl("run", "--env", "A", *line[2:]).code == 2


def test_a_server_of_an_older_release_is_told_from_a_wrong_variable(
    lab: Ranks, project: Path, devctl: Devctl
) -> None:
    lab.changes = {"start:* | begin:* |": "start:* |"}
    found = devctl("run", "--env", "A=b", "lab", str(project / "train.py"))
    assert found.code == 2
    assert "an older release has started needs `devctl stop lab`" in found.stderr
    assert devctl("run", "lab", str(project / "train.py")).code == 0


def test_what_is_on_the_server_is_run_there(
    lab: Ranks, repository: Path, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    lines = [
        ("--workdir", "vision/src", "lab", "vision/src/vision/train.py", "x"),
        ("--workdir", "~/vision/src", "lab", "-m", "vision.train", "x"),
    ]
    for line in lines:
        # Here such a path is this machine's.
        assert devctl("run", "--no-sync", *line).code == 3
    started = [call[3:] for call in lab.calls if call[1] == "start"]
    torchrun = list(command.TORCHRUN)
    assert started == [
        ["/home/dev/vision/src", *torchrun, "./vision/train.py", "x"],
        ["/home/dev/vision/src", *torchrun, "-m", "vision.train", "x"],
    ]


def test_nothing_is_sent_while_a_run_is_active(lab: Ranks, project: Path, devctl: Devctl) -> None:
    (project / "train.py").write_text(SLEEPS)
    name = devctl("run", "-d", "lab", str(project / "train.py")).stdout.strip()
    (project / "train.py").write_text(SAYS)
    found = devctl("run", "--overwrite", "lab", str(project / "train.py"))
    assert found.code == 1
    said = f"error: run `{name}` is active on `lab`, which takes one at a time; nothing was sent"
    assert found.stderr.splitlines()[0] == said
    for rank in (0, 1):
        assert (lab.home(rank) / "project/train.py").read_text() == SLEEPS


def test_one_rank_is_passed_on_as_it_is(
    api: FakeApi, tmp_path: Path, project: Path, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    pods(monkeypatch, tmp_path)
    lab = ranks(api, tmp_path, monkeypatch, 1)
    (project / "train.py").write_text("print(end='no newline')")
    try:
        found = devctl("run", "lab", str(project / "train.py"))
        assert (found.code, found.stdout) == (0, "no newline")
        (project / "go.sh").write_text('#!/bin/sh\necho "$1"; exit 3\n')
        (project / "go.sh").chmod(0o755)
        found = devctl("run", "lab", str(project / "go.sh"), "$(id)")
        assert (found.code, found.stdout) == (3, "$(id)\n")
        assert found.stderr.splitlines()[-2].endswith("server `lab` ended with exit code 3")
    finally:
        lab.end()


def test_the_exit_code_is_the_first_failures_with_its_last_lines(
    lab: Ranks, project: Path, devctl: Devctl
) -> None:
    (project / "train.py").write_text(FAILS)

    found = devctl("run", "lab", str(project / "train.py"))

    assert found.code == 7
    assert "[1] it broke\n" in found.stdout
    name = found.stderr.splitlines()[3].split()[0]
    assert found.stderr.splitlines()[4:] == [
        "replica 1 ended with exit code 7",
        "the last lines of replica 1, which failed first:",
        "  begun",
        "  it broke",
        f"error: run `{name}` has failed: replica 1 ended with exit code 7",
        f"  fix: see all it printed with `devctl logs lab {name} --replica 1`",
    ]
    assert devctl("stop-run", "lab").code == 3
    assert lab.count == 2


def press_ctrl_c(monkeypatch: pytest.MonkeyPatch, heard_of: int = 1) -> None:
    """Press Ctrl-C, once, when the beginning of this many replicas is on the screen."""
    write, heard = replica_output._to_standard_output, list[bytes]()  # noqa: SLF001

    def show(data: bytes) -> None:
        write(data)
        before = len(heard)
        heard.extend(line for line in data.splitlines() if b"begun" in line)
        if before < heard_of <= len(heard):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(replica_output, "_to_standard_output", show)


def begun(lab: Ranks) -> bool:
    """Whether both ranks have said so."""
    outputs = [[*lab.home(rank).glob(".devctl/runs/*/output")] for rank in range(2)]
    return all(found and b"begun" in found[0].read_bytes() for found in outputs)


def test_ctrl_c_ends_all_ranks(
    lab: Ranks, project: Path, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lab.count == 2
    (project / "train.py").write_text(SLEEPS)
    press_ctrl_c(monkeypatch, heard_of=2)

    found = devctl("run", "lab", str(project / "train.py"))

    assert found.code == 130
    assert found.stderr.splitlines()[-1].endswith(" was ended")
    assert "ending train-" in found.stderr
    fates = json.loads(devctl("logs", "--list", "lab", "-o", "json").stdout)["items"][0]
    assert [each["state"] for each in fates["replicas"]] == ["ended", "ended"]


def test_a_reader_that_leaves_is_told_that_it_goes_on(
    lab: Ranks, project: Path, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(_data: bytes) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("devctl.cli.replica_output._to_standard_output", nobody)
    (project / "train.py").write_text(SLEEPS)

    found = devctl("run", "lab", str(project / "train.py"))

    assert found.code == 1
    said = found.stderr.splitlines()[-1]
    assert said.startswith("nobody reads its output any more; train-")
    assert "keeps running on 2 replicas: `devctl attach lab train-" in said
    assert not [call for call in lab.calls if call[1] == "stop"]


def test_a_detached_run_is_followed_attached_to_and_stopped(
    lab: Ranks, project: Path, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "train.py").write_text(SLEEPS)

    found = devctl("run", "--detach", "lab", str(project / "train.py"))

    name = found.stdout.strip()
    assert found.code == 0
    assert f"`devctl attach lab {name}` follows it" in found.stderr
    eventually(lambda: begun(lab))
    press_ctrl_c(monkeypatch)
    found = devctl("logs", "-f", "lab")
    assert (found.code, found.stdout.splitlines()[-1][3:]) == (130, " begun")
    assert not [call for call in lab.calls if call[1] == "stop"]
    assert devctl("run", "lab", str(project / "train.py")).code == 1

    press_ctrl_c(monkeypatch)
    found = devctl("attach", "lab")
    assert found.code == 130
    assert f"{name} runs on 2 replicas; Ctrl-C ends it" in found.stderr
    found = devctl("stop-run", "lab", name)
    assert (found.code, found.stdout) == (0, f"run/{name} had ended already\n")
    assert devctl("attach", "lab", name).code == 143
    assert devctl("attach", "lab").code == 3


def test_programs_get_a_detached_run_and_its_end_as_documents(
    lab: Ranks, project: Path, devctl: Devctl
) -> None:
    (project / "train.py").write_text(SLEEPS)
    script = str(project / "train.py")
    assert "-o needs --detach" in devctl("run", "-o", "json", "lab", script).stderr
    assert lab.calls == []
    started = json.loads(devctl("run", "--detach", "-o", "json", "lab", script).stdout)
    assert (started["server"], started["state"]) == ("lab", "Running")
    eventually(lambda: begun(lab))
    path = "jsonpath={.name} {.state}"
    found = devctl("stop-run", "lab", "-o", path)
    assert (found.code, found.stderr) == (0, "")
    name, state = found.stdout.split()
    assert (name, state != "Running") == (started["name"], True)
    found = devctl("stop-run", "lab", name, "-o", "name")
    assert (found.code, found.stdout) == (0, f"run/{name}\n")


def test_survivors_are_shown_and_ended_and_who_is_away_is_told(
    api: FakeApi, lab: Ranks, project: Path, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "train.py").write_text(SLEEPS)
    name = devctl("run", "-d", "lab", str(project / "train.py")).stdout.strip()
    eventually(lambda: begun(lab))
    gone = running("lab-1")
    gone["status"]["containerStatuses"][0]["state"] = {"terminated": {"exitCode": 137}}
    api.add(PODS, gone)
    away = "replica 1 is missing: replica 1 of server `lab` does not run"

    for line in ("logs lab", "logs lab --tail 1"):
        found = devctl(*line.split())
        assert (found.code, found.stdout) == (0, "[0] begun\n")
        assert found.stderr.startswith(away)
    assert devctl("logs", "lab", "--list").stderr.startswith(away)
    assert devctl("logs", "lab", "--replica", "0").stderr == ""
    found = devctl("logs", "lab", "--replica", "1")
    assert (found.code, found.stderr[7 : 7 + len(away)]) == (1, away)

    press_ctrl_c(monkeypatch)
    found = devctl("attach", "lab")
    assert found.code == 130
    assert found.stderr.startswith(away)
    assert f"{name} runs on 1 of 2 replicas; Ctrl-C ends it" in found.stderr
    found = devctl("stop-run", "lab", name)
    assert found.stderr.startswith(away)
    assert devctl("run", "lab", str(project / "train.py")).code == 1


def test_how_a_rank_ended_that_is_away_is_not_made_up(
    api: FakeApi, lab: Ranks, project: Path, devctl: Devctl
) -> None:
    name = devctl("run", "-d", "lab", str(project / "train.py")).stdout.strip()
    assert devctl("attach", "lab", name).code == 0
    api.add(PODS, pod("lab-1", phase="Pending"))
    found = devctl("attach", "lab", name)
    assert found.code == 1
    assert f"error: how {name} ended on replica 1 is not known: it is missing" in found.stderr
    assert lab.count == 2


def test_stop_run(lab: Ranks, project: Path, devctl: Devctl) -> None:
    (project / "train.py").write_text(SLEEPS)
    name = devctl("run", "-d", "lab", str(project / "train.py")).stdout.strip()
    found = devctl("stop-run", "lab")
    assert (found.code, found.stdout) == (0, f"run/{name} stopped\n")
    assert found.stderr == "none of its processes is left on 2 replicas\n"
    assert lab.count == 2


@pytest.mark.usefixtures("lab")
def test_logs(project: Path, devctl: Devctl) -> None:
    (project / "train.py").write_text(f"{SAYS}\nsys.stdout.buffer.write(b'\\xff\\r\\n2\\r3')")
    name = devctl("run", "lab", str(project / "train.py")).stderr.splitlines()[3].split()[0]

    def lines(*words: str) -> list[bytes]:
        found = devctl("logs", "lab", *words)
        assert (found.code, found.stderr) == (0, "")
        return found.stdout.encode(errors="surrogateescape").splitlines()

    assert len(lines()) == len(lines("-f")) == 8
    assert [line[:3] for line in lines()] == 4 * [b"[0]"] + 4 * [b"[1]"]
    assert lines(name, "--replica", "1", "--tail", "1")[-2:] == [b"[1] 2", b"[1] 3"]
    assert lines("-f", "--replica", "0", "--tail", "1")[-1] == b"[0] 3"
    assert devctl("logs", "lab", "--list", "-o", "name").stdout == f"run/{name}\n"
    table = devctl("logs", "lab", "--list").stdout.splitlines()
    assert table[0].split() == ["RUN", "STATE", "CODE", "COMMAND", "AGE"]
    assert table[1].split()[:4] == [name, "Succeeded", "0", "./train.py"]


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("run lab no/such.py", 3, "there is no file `no/such.py` here"),
        ("run nobody train.py", 3, "there is no"),
        ("run halted train.py", 1, "server `halted` is stopped"),
        ("run lab", 2, "there is nothing to run"),
        ("run lab --", 2, "there is nothing to run"),
        ("run lab -m no-module", 2, "`no-module` is not the name of a module"),
        ("run --workdir no/such lab train.py", 3, "there is no folder `no/such` here"),
        ("run --workdir data lab train.py", 2, "is not in"),
        ("run lab .", 2, "`.` is a folder"),
        ("run --no-sync lab no/such.py", 3, "there is no folder"),
        ("run --no-sync lab /", 2, "names no script"),
        ("logs lab", 3, "there has been no run on server `lab`"),
        ("logs lab none", 3, "has no run `none`"),
        ("logs lab -o json", 2, "-o is for --list only"),
        ("attach lab", 3, "no run is active on server `lab`"),
        ("stop-run lab $(id)", 3, "has no run `$(id)`"),
    ],
)
def test_errors_are_two_lines(  # noqa: PLR0913, PLR0917 - a case is several
    line: str,
    code: int,
    said: str,
    api: FakeApi,
    lab: Ranks,
    project: Path,
    devctl: Devctl,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api.add(SERVERS, server("halted", "Stopped"))
    monkeypatch.chdir(project)
    found = devctl(*line.split())
    assert (found.code, found.stdout) == (code, "")
    error, fix = found.stderr.splitlines()[-2:]
    assert error.startswith("error: ")
    assert said in error
    assert fix.startswith("  fix: ")
    assert not [call for call in lab.calls if call[1] == "start"] or "--no-sync" in line


def test_an_empty_list_says_what_to_do(lab: Ranks, devctl: Devctl) -> None:
    found = devctl("logs", "--list", "lab")
    assert (found.code, found.stdout) == (0, "")
    assert found.stderr == "no runs on `lab`; start one with `devctl run lab SCRIPT`\n"
    assert lab.count == 2
