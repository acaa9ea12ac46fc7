"""Every target of the Makefile that people, scripts and documents know exists."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
TARGETS = (
    *("build-k8s", "build-all", "build-controller", "build-nodeagent", "build-kubeletplugin"),
    *("docker", "push", "deploy", "undeploy", "install", "clean", "dev-setup", "hello"),
    *("test", "test-short", "test-integration", "test-coverage"),
    *("up", "down", "demo", "build", "load", "docker-build", "run", "cli", "lint", "bench"),
)
MADE_BY = {
    "build-controller": "devctl.local.archives observer",
    "build-nodeagent": "devctl.local.archives cache-agent",
    "build-kubeletplugin": "devctl.local.archives dra-plugin",
    "docker": "observer node-agent cache-agent dra-plugin",
    "push": "devctl.local.push",
    "undeploy": "scripts/undeploy.sh /there/kubeconfig",
    "hello": "scripts/hello.sh",
    "dev-setup": "pre-commit install",
    "test-short": "support.tiers unit",
    "test-integration": "support.tiers plane",
    "test-coverage": "scripts/unit.sh",
}


def commands(target: str) -> str:
    """What `make` would run."""
    environment = {**os.environ, "KUBECONFIG": "/there/kubeconfig"}
    done = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", target],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_exists(target: str) -> None:
    assert commands(target)


@pytest.mark.parametrize("target", MADE_BY)
def test_a_target_does_what_it_is_called(target: str) -> None:
    assert MADE_BY[target] in commands(target)


def test_every_target_is_explained_and_no_file() -> None:
    text = (REPOSITORY / "Makefile").read_text()

    def names(pattern: str) -> set[str]:
        lines = re.findall(pattern, text, re.MULTILINE)
        return {name for line in lines for name in line.split()}

    explained, phony = names(r"^([a-z0-9 -]+):.*## "), names(r"^\.PHONY: (.*)$")
    assert explained == phony


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
