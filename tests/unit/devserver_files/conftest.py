"""The scripts as a container would run them, but with every path in a folder of the test's own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from devctl.local.paths import REPOSITORY
from unit.patience import PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILES = REPOSITORY / "roles/devserver/files"
# What images have as /bin/sh: Debian's, Red Hat's (bash under that name), Alpine's.
SHELLS = {"dash": ["dash"], "bash": ["sh"], "busybox": ["busybox", "sh"]}
# Programs get this many tenths of a second to write what they have.
SHORT = {"limit=100 ": "limit=6 "}
PRESENT = [program for program in SHELLS if shutil.which(program)]


@dataclass(frozen=True)
class Container:
    """A folder that stands for a container's root, and the shell that it has."""

    root: Path
    program: str
    argv: list[str]

    def script(self, name: str, more: Mapping[str, str]) -> Path:
        """A copy of a script in which every absolute path lies under the root.

        Raises:
            AssertionError: The script does not contain a text that is to be replaced.
        """
        text = (FILES / name).read_text()
        # Where a script starts itself again, it is in the container's shell.
        itself = '/bin/sh "$0"'
        paths = (
            *("/home/dev", "/etc/skel", "/run/devctl", "proc=/proc"),
            *("/opt/devctl-hooks", "/dev/termination-log"),
        )
        replaced = {path: path.replace("/", f"{self.root}/", 1) for path in paths if path in text}
        if itself in text:
            replaced[itself] = f'{self.root}/sh "$0"'
        for old, new in {**replaced, **more}.items():
            assert old in text
            text = text.replace(old, new)
        # `stop` on the machine's own processes would end whoever runs the tests.
        assert "=/proc" not in text
        assert itself not in text
        copy = self.root / "opt/devctl" / name
        # A shell that goes on reads its script bit by bit: what it has open stays as it is.
        fresh = copy.with_suffix(f".{uuid4().hex}")  # threads of a test come for it at once
        fresh.write_text(text)
        return fresh.replace(copy)

    def start(
        self,
        name: str,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        more: Mapping[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
    ) -> subprocess.Popen[str]:
        """Run a script with the container's shell."""
        # The fixture has found it.
        program = shutil.which(self.program)
        return subprocess.Popen(
            [*self.argv, str(self.script(name, more or {})), *arguments],
            executable=program,
            env={"PATH": os.environ["PATH"], **(env or {})},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self,
        name: str,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        more: Mapping[str, str] | None = None,
        words: str | None = None,
    ) -> tuple[int, str, str]:
        """Run a script to its end: exit status, stdout, stderr.

        `words` is what it reads; without any its input is at its end.
        """
        stdin = subprocess.DEVNULL if words is None else subprocess.PIPE
        process = self.start(name, *arguments, env=env, more=more, stdin=stdin)
        try:
            out, err = process.communicate(words, timeout=PATIENCE)
        finally:
            process.kill()
        return process.returncode, out, err

    def program_on_path(self, name: str, text: str) -> dict[str, str]:
        """Put a program in front of all others; the environment that finds it."""
        own = [*self.argv, "-c", f"PATH=/nowhere; command -v {name}"]
        if subprocess.run(own, capture_output=True, check=False).returncode == 0:
            pytest.skip(f"this machine's {self.program} uses a `{name}` of its own")
        folder = self.root / "programs"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
        return {"PATH": f"{folder}:{os.environ['PATH']}"}


def make_container(root: Path, program: str) -> Container:
    for folder in ("home/dev", "etc/skel", "run/devctl", "opt/devctl", "proc", "dev"):
        (root / folder).mkdir(parents=True)
    (root / "sh").symlink_to(shutil.which(program) or program)
    return Container(root, program, SHELLS[program])


@pytest.fixture(params=PRESENT)
def container(request: pytest.FixtureRequest, tmp_path: Path) -> Container:
    return make_container(tmp_path / "container", request.param)


def status(pid: int) -> str:
    """What the kernel says of a process."""
    return Path(f"/proc/{pid}/status").read_text()


def catches_term(pid: int) -> bool:
    """Whether a process has a handler or trap for TERM."""
    caught = status(pid).partition("SigCgt:")[2].split()[0]
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


@dataclass
class Rank:
    """A container whose processes are this machine's; what a test has started ends with it."""

    container: Container
    begun: list[str] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.container.root / "home/dev"

    @property
    def runs(self) -> Path:
        return self.home / ".devctl/runs"

    def __call__(
        self,
        *words: str,
        env: Mapping[str, str] | None = None,
        more: Mapping[str, str] | None = None,
        typed: str | None = None,
    ) -> tuple[int, str, str]:
        return self.container.run("run", *words, env=env, more=more, words=typed)

    def start(
        self,
        run: str,
        *argv: str,
        env: Mapping[str, str] | None = None,
        more: Mapping[str, str] | None = None,
    ) -> tuple[int, str, str]:
        self.begun.append(run)
        return self("start", run, ".", *argv, env=env, more=more)

    def follow(self, run: str, offset: int = 0) -> tuple[str, list[str]]:
        """What one call of `follow` prints, and what it says."""
        process = self.container.start("run", "follow", run, str(offset), stdin=subprocess.PIPE)
        assert process.stdout
        assert process.stderr
        try:
            printed, said = process.stdout.read(), process.stderr.read().splitlines()
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
            process.communicate()
        return printed, said

    def all(self, run: str) -> tuple[str, list[str]]:
        """Everything that a run prints, and how it has ended."""
        printed, said = self.follow(run)
        while said[-1] == "more":
            rest, said = self.follow(run, len(printed.encode()))
            printed += rest
        return printed, said[-1].split()

    def listed(self) -> list[str]:
        status, out, err = self("list")
        assert (status, err) == (0, "")
        return out.split("\0")[:-1]

    def fates(self) -> dict[str, str]:
        """What has become of each run: its fate and its code."""
        fields, found = self.listed(), {}
        while fields:
            run, fate, code, _started, _folder, count = fields[:6]
            found[run] = f"{fate} {code}"
            del fields[: 6 + int(count)]
        return found

    def pretends(self, run: str, *, turn: bool = False) -> Path:
        """A run whose shell is this process: it goes on for as long as the test."""
        folder = self.runs / run
        folder.mkdir(parents=True)
        (folder / "record").write_bytes(b"1\0/home\0001\0train\0")
        if turn:
            (folder / "turn").touch()
        since = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
        (folder / "supervisor").write_text(f"{os.getpid()} {since}\n")
        return folder


@contextmanager
def made(root: Path, program: str) -> Iterator[Rank]:
    container = make_container(root / "container", program)
    # `stop` touches a run's own processes alone.
    (container.root / "proc").rmdir()
    (container.root / "proc").symlink_to("/proc")
    rank = Rank(container)
    yield rank

    def ended(run: str) -> bool:
        # One that has only just begun may have no process yet that could be told to end.
        rank("stop", run, more=SHORT)
        return not rank.fates()[run].startswith("running")

    for run in rank.begun:
        if (rank.runs / run / "record").exists():
            eventually(lambda: ended(run))  # noqa: B023 - it is called at once


@pytest.fixture(params=PRESENT)
def rank(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rank]:
    with made(tmp_path, request.param) as rank:
        yield rank


def tells(result: tuple[int, str, str], status: int, error: str, fix: str) -> None:
    assert result[:2] == (status, ""), result
    first, second = result[2].splitlines()
    assert first.startswith("error: ")
    assert error in first
    assert second.startswith("  fix: ")
    assert fix in second
