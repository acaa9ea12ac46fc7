"""Every target of the Makefile that people, scripts and documents know exists."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
FENCED = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`make ([^`]+)`((?:, `[a-z0-9-]+`)*)")
"""`make build-all`, `docker`: more of them may follow the first."""
SAME = {"test-short": "test-unit", "test-integration": "test-plane", "install": "deploy"}
"""Targets that the documents call the same as others."""


def commands(*targets: str) -> str:
    """What `make` would run."""
    environment = {**os.environ, "KUBECONFIG": "/there/kubeconfig"}
    done = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", *targets],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def named(pattern: str) -> set[str]:
    """The words that a pattern finds in the Makefile."""
    lines = re.findall(pattern, (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    return {name for line in lines for name in line.split()}


def targets() -> set[str]:
    """Those that `make help` explains."""
    return named(r"^([a-z0-9 -]+):.*## ")


def documented() -> dict[str, str]:
    """The targets that documents tell people to use, and where they do."""
    found: dict[str, str] = {}
    pages = [
        *REPOSITORY.glob("*.md"),
        REPOSITORY / "tests/README.md",
        *REPOSITORY.glob("docs/*.md"),
    ]
    for page in pages:
        text = page.read_text()
        lines = [line for block in FENCED.findall(text) for line in block.splitlines()]
        calls = [line.removeprefix("make ") for line in lines if line.startswith("make ")]
        calls += [
            f"{first} {more.translate({96: 32, 44: 32})}" for first, more in INLINE.findall(text)
        ]
        for call in calls:
            words = itertools.takewhile(re.compile(r"[a-z0-9-]+").fullmatch, call.split())
            found |= dict.fromkeys(words, page.name)
    return found


def test_every_target_is_explained_and_no_file() -> None:
    assert targets() == named(r"^\.PHONY: (.*)$")


def test_every_target_can_be_made() -> None:
    assert commands(*sorted(targets()))


def test_documents_name_targets_that_exist() -> None:
    found = documented()
    assert {"up", "deploy", "build-nodeagent", "test-one", "lint", "test-unit"} <= found.keys()
    missing = {name: page for name, page in found.items() if name not in targets()}
    assert not missing


@pytest.mark.parametrize("target", SAME)
def test_two_names_of_the_same_do_the_same(target: str) -> None:
    assert commands(target) == commands(SAME[target])


@pytest.mark.parametrize("target", ["undeploy", "hello", "status", "record"])
def test_a_target_uses_the_cluster_that_is_named(target: str) -> None:
    assert "/there/kubeconfig" in commands(target)


def test_images_that_are_built_and_pushed_exist() -> None:
    said = commands("docker", "push", "build-controller", "build-nodeagent", "build-kubeletplugin")
    lines = [line for line in said.splitlines() if " -m devctl.local." in line]
    assert len(lines) == 5
    for line in lines:
        names = line.split(" -m devctl.local.")[1].split()[1:]
        assert names
        assert not [name for name in names if not (REPOSITORY / "images" / name).is_dir()]
    every, pushed, *single = ({*line.split(" -m devctl.local.")[1].split()[1:]} for line in lines)
    assert every == pushed
    assert set().union(*single) < every


@pytest.mark.parametrize("script", sorted(REPOSITORY.glob("hack/*.sh")), ids=lambda p: p.name)
def test_a_script_runs_without_arguments_and_from_anywhere(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert 'cd "$(dirname "$0")/.."' in script.read_text()


def test_a_foreign_cluster_needs_a_registry(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "KUBECONFIG": str(tmp_path / "kubeconfig")}
    done = subprocess.run(
        [REPOSITORY / "hack" / "push-and-restart.sh"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "fix: set REGISTRY" in done.stderr
    assert done.stdout == ""


BENCHES = re.findall(
    r"PYTHONPATH=(\S+) \$\(VENV\)/bin/python tests/bench/(\w+)\.py",
    (REPOSITORY / "Makefile").read_text(),
)


@pytest.mark.parametrize(("path", "module"), BENCHES)
def test_a_bench_finds_what_it_imports(path: str, module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import bench.{module}"],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": f"{path}:tests"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
