"""What `make new-kind` makes passes the checks and its own tests as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.made_kinds import MODULES, made_files, make, project_with_kinds

from devctl.local.paths import REPOSITORY

BIN = Path(sys.executable).parent
ROOMS = (
    "images/observer",
    "images/inference",
    "images/node-agent",
    "images/cache-agent",
    "images/dra-plugin",
    "images/fake-gpu-plugin",
    "images/gateway",
    "images/gpu-worker-agent",
    "plugins",
    "",
)
"""Where import-linter finds what the contracts are about."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project_with_kinds(tmp_path_factory.mktemp("kinds") / "project")


def run(project: Path, program: str, *words: str) -> str:
    """A program's complaints about the project; empty where it has none."""
    environment = os.environ | {
        "PYTHONPATH": ":".join(str(project / room) for room in ROOMS),
        "ANSIBLE_HOME": str(REPOSITORY / ".ansible"),
        "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"),
        "PATH": f"{BIN}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        [BIN / program, *words],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", "."),
        ("ruff", "format", "--check", "."),
        ("yamllint", "--strict", "config", "roles", "watches.yaml"),
        ("lint-imports",),
        ("ansible-lint", "--offline", "--profile=production", *(f"roles/{m}" for m in MODULES)),
    ],
    ids=" ".join,
)
def test_what_is_made_passes_the_checks(project: Path, command: tuple[str, ...]) -> None:
    assert run(project, *command) == ""


def test_what_is_made_is_typed(project: Path) -> None:
    python = [file for file in made_files(project) if file.endswith(".py")]
    assert len(python) == 22
    # What is known of all else, where `make lint` has been run.
    if (REPOSITORY / ".mypy_cache").exists():
        shutil.copytree(REPOSITORY / ".mypy_cache", project / ".mypy_cache")
    assert run(project, "mypy", *python, "images/observer/devctl_observer/families.py") == ""


def test_what_is_made_passes_its_tests(project: Path) -> None:
    tests = [file for file in made_files(project) if file.startswith("tests/unit/")]
    assert len(tests) == 4
    examples = [f"devctl/api/{name}.py" for name in MODULES]
    config = "tests/unit/test_config.py"
    options = ("-q", "--doctest-modules", "-p", "no:cacheprovider")
    assert run(project, "pytest", *options, *tests, *examples, config) == ""


def test_a_name_that_is_taken_changes_nothing(project: Path) -> None:
    before = {path: path.read_bytes() for path in project.rglob("*.yaml")}
    assert "there is a config/crd/widget.yaml already" in make(project, "Widget", "a.example.com")
    assert "`json` is a package of somebody else's" in make(project, "Json", "a.example.com")
    assert {path: path.read_bytes() for path in project.rglob("*.yaml")} == before


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("widget", "a.example.com"), "KIND=widget does not match"),
        (("Other", "example"), "GROUP=example does not match"),
        (("Other", "a.example.com", "Global"), "SCOPE=Global does not match"),
        (("Other", "a.example.com", "Cluster", "Others"), "PLURAL=Others does not match"),
    ],
)
def test_a_name_that_kubernetes_would_refuse_is_refused(
    project: Path, names: tuple[str, ...], said: str
) -> None:
    assert f"error: {said}" in make(project, *names)
