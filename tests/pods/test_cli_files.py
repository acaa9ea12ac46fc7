"""Files to a real server and back."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING
from uuid import uuid4

import pexpect
import pytest
from support.servers import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.command_line import CommandLine
    from support.servers import DevServer

MEGABYTES = 100
HOSTILE = ("$(touch owned)", "; touch owned", "a\\b", "-rf", "'\"", "*")


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def remote(lab: DevServer) -> Iterator[str]:
    """A folder of the test's own in each home."""
    name = f"remote-{uuid4().hex[:6]}"
    yield name
    for rank in (0, 1):
        lab.run(f"rm -rf {name}", rank)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "package").mkdir(parents=True)
    (folder / "train.py").write_text("print(1)\n")
    (folder / "package/__init__.py").write_text("")
    return folder


def test_a_sync_brings_only_what_has_changed_to_every_replica(
    command_line: CommandLine, lab: DevServer, project: Path, remote: str
) -> None:
    command_line.must("sync", "lab", str(project), remote)
    for rank in (0, 1):
        assert lab.run(f"cat {remote}/train.py", rank) == "print(1)"
    (project / "train.py").write_text("print(2)\n")
    shown = command_line("sync", "lab", str(project), remote, "--dry-run").stderr
    assert b"train.py" in shown
    assert b"__init__" not in shown
    assert lab.run(f"cat {remote}/train.py") == "print(1)"
    command_line.must("sync", "lab", str(project), remote)
    assert lab.run(f"cat {remote}/train.py", rank=1) == "print(2)"


def test_a_sync_brings_back_what_has_changed_there(
    command_line: CommandLine, lab: DevServer, project: Path, remote: str
) -> None:
    (project / ".gitignore").write_text("*.tmp\n")
    command_line.must("sync", "lab", str(project), remote)
    lab.run(f"cd {remote} && echo 3 > train.py && echo new > made && echo no > left.tmp")
    shown = command_line.must("sync", "lab", str(project), remote, "--from")
    assert "2 files" in shown
    assert (project / "train.py").read_text() == "3\n"
    assert not (project / "left.tmp").exists()
    # What has changed on both sides is nobody's to replace.
    (project / "train.py").write_text("mine\n")
    lab.run(f"echo theirs > {remote}/train.py")
    assert "was changed there" in command_line.fails(1, "sync", "lab", str(project), remote)
    command_line.fails(1, "sync", "lab", str(project), remote, "--from")
    assert (project / "train.py").read_text() == "mine\n"
    assert lab.run(f"cat {remote}/train.py") == "theirs"


def test_a_watch_sends_each_change_until_it_is_ended(
    command_line: CommandLine, lab: DevServer, project: Path, remote: str
) -> None:
    shell = command_line.terminal("sync", "lab", str(project), remote, "--watch")
    shell.expect("watching; Ctrl-C ends it")
    (project / "new.py").write_text("fresh")
    wait_until(lambda: lab.run(f"cat {remote}/new.py || true", rank=1) == "fresh", "it is there")
    shell.sendintr()
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus == 130


def test_a_large_file_goes_and_comes_intact(
    command_line: CommandLine, lab: DevServer, remote: str
) -> None:
    source = command_line.home / "large"
    source.write_bytes(os.urandom(MEGABYTES << 20))
    command_line.must("cp", "large", f"lab:{remote}")
    assert lab.run(f"sha256sum {remote}").split()[0] == digest(source)
    command_line.must("cp", f"lab:{remote}", "back")
    assert digest(command_line.home / "back") == digest(source)


def test_names_are_words_and_never_commands(
    command_line: CommandLine, lab: DevServer, remote: str
) -> None:
    folder = command_line.home / "odd"
    folder.mkdir()
    for name in HOSTILE:
        (folder / name).write_text(name)
    command_line.must("cp", "odd", f"lab:{remote}")
    assert int(lab.run(f"ls -A {remote} | wc -l")) == len(HOSTILE)
    assert lab.run("ls -d owned 2>/dev/null || true") == ""
    command_line.must("cp", f"lab:{remote}", "returned")
    names = {path.name for path in (command_line.home / "returned").iterdir()}
    assert names == set(HOSTILE)


def test_names_that_are_no_text_go_there_and_are_shown_on_the_way_back(
    command_line: CommandLine, lab: DevServer, project: Path, remote: str
) -> None:
    (project / os.fsdecode(b"caf\xe9.txt")).write_text("1")
    shown = command_line("sync", "lab", str(project), remote)
    assert (shown.returncode, shown.stdout.count(b"3 files")) == (0, 2)
    assert rb"+ caf\xe9.txt" in shown.stderr
    command_line.must("cp", str(project), f"lab:{remote}/copy")
    for folder in (remote, f"{remote}/copy"):
        assert lab.run(f"cat \"$(printf '{folder}/caf\\351.txt')\"", rank=0) == "1"
    for line in (("sync", "lab", "back", remote, "--from"), ("cp", f"lab:{remote}", "again")):
        said = command_line.fails(1, *line)
        assert r"left out: `caf\xe9.txt`: its name is not UTF-8" in said
    for folder in ("back", "again"):
        assert (command_line.home / folder / "train.py").is_file()


def test_a_hostile_server_writes_nothing_outside(
    command_line: CommandLine, lab: DevServer, remote: str
) -> None:
    odd = "touch \"$(printf 'esc\\033[31m')\" \"$(printf 'not\\377text')\""
    lab.run(f"mkdir {remote} && cd {remote} && ln -s /etc/passwd link && mkfifo pipe && {odd}")
    lab.run(f"cd {remote} && ln -s ../.. up && echo x > x && truncate -s 4T hole")
    lab.run(f"cd {remote} && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit")
    said = command_line.fails(1, "cp", f"lab:{remote}", "from-server")
    assert "there is room for" in said
    lab.run(f"rm {remote}/hole")
    said = command_line.fails(1, "cp", f"lab:{remote}", "from-server")
    assert "\x1b" not in said
    assert all(name in said for name in ("esc", "not", "link", "up"))
    assert "left out: 1 file of git (`.git`)" in said
    assert [path.name for path in (command_line.home / "from-server").iterdir()] == ["x"]
