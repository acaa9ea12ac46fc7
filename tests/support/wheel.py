"""The wheel that is published, and what somebody gets who installs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

BIN = Path(sys.executable).parent
MINORS = range(11, 15)
"""Of Python 3: what the metadata names."""
SHARED = "devctl-{version}.data/data/share/"


class Done(NamedTuple):
    """What came of a command line."""

    code: int
    stdout: str
    stderr: str


class Installed:
    """devctl in an environment of its own, for a person who has never used it."""

    def __init__(self, prefix: Path, home: Path) -> None:
        """Install nothing: that is the fixture's."""
        self.prefix, self.home = prefix, home

    def __call__(self, program: str, *arguments: str) -> Done:
        """Run a program of it."""
        done = subprocess.run(
            [self.prefix / "bin" / program, *arguments],
            cwd=self.home,
            env=clean_environment(self.home) | {"PATH": f"{self.prefix}/bin:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return Done(done.returncode, done.stdout, done.stderr)


def clean_environment(home: Path) -> dict[str, str]:
    """Nothing of this checkout and of the cluster that the person has chosen."""
    ours = re.compile(r"PYTHON|VIRTUAL_ENV|KUBECONFIG|DEVCTL_|COVERAGE|PYTEST")
    kept = {name: value for name, value in os.environ.items() if not ours.match(name)}
    return kept | {"HOME": str(home), "COLUMNS": "80", "TERM": "dumb"}


def must(*words: str | Path, home: Path | None = None) -> None:
    """Run something that works."""
    environment = clean_environment(home or Path.home())
    done = subprocess.run(
        words, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def pythons() -> Iterator[Path]:
    """The newest of each Python that devctl supports and this machine has."""
    for minor in MINORS:
        name = f"python3.{minor}"
        by_pyenv = (Path.home() / ".pyenv/versions").glob(f"3.{minor}.*/bin/{name}")
        on_path = shutil.which(name)
        for found in [*sorted(by_pyenv, reverse=True), *([Path(on_path)] if on_path else [])]:
            answer = subprocess.run([found, "-c", "import ssl"], check=False, capture_output=True)
            if answer.returncode == 0:
                yield found
                break


PYTHONS = list(pythons())


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution, and the wheel that was made from it alone."""
    folder = tmp_path_factory.mktemp("dist")
    must(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, REPOSITORY)
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def content(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def install(wheel: Path, python: Path, home: Path) -> Installed:
    """An environment of a Python with the wheel in it."""
    uv = BIN / "uv"
    must(uv, "venv", "--quiet", "--python", python, home / "venv")
    must(uv, "pip", "install", "--quiet", "--python", home / "venv/bin/python", wheel)
    return Installed(home / "venv", home)
