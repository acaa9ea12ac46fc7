"""The scripts as a container would run them, but with every path in a folder of the test's own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FILES = REPOSITORY / "roles/devserver/files"
# What images have as /bin/sh: Debian's, Red Hat's (bash under that name), Alpine's.
SHELLS = {"dash": ["dash"], "bash": ["sh"], "busybox": ["busybox", "sh"]}
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
        paths = ("/home/dev", "/etc/skel", "/run/devctl", "proc=/proc")
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
            out, err = process.communicate(words, timeout=30)
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
    for folder in ("home/dev", "etc/skel", "run/devctl", "opt/devctl", "proc"):
        (root / folder).mkdir(parents=True)
    (root / "sh").symlink_to(shutil.which(program) or program)
    return Container(root, program, SHELLS[program])


@pytest.fixture(params=PRESENT)
def container(request: pytest.FixtureRequest, tmp_path: Path) -> Container:
    return make_container(tmp_path / "container", request.param)


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until something holds.

    Raises:
        AssertionError: It did not within ten seconds.
    """
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def status(pid: int) -> str:
    """What the kernel says of a process."""
    return Path(f"/proc/{pid}/status").read_text()


def catches_term(pid: int) -> bool:
    """Whether a process has a handler or trap for TERM."""
    caught = status(pid).partition("SigCgt:")[2].split()[0]
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)
