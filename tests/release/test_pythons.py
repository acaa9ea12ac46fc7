"""The wheel with each other Python, with the oldest libraries that it takes, and with pipx."""

from __future__ import annotations

import subprocess
from email import message_from_bytes
from typing import TYPE_CHECKING

import pytest
from release.test_wheel import (
    test_a_shell_completes_from_what_was_installed,
    test_everything_in_it_can_be_imported,
    test_it_answers_without_a_cluster,
)
from support.wheel import (
    BIN,
    PYTHONS,
    Installed,
    clean_environment,
    content,
    dist,
    install,
    must,
    wheel,
)

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [  # fixtures, and the tests that show the same with one Python
    "content",
    "dist",
    "test_a_shell_completes_from_what_was_installed",
    "test_everything_in_it_can_be_imported",
    "test_it_answers_without_a_cluster",
    "wheel",
]


@pytest.fixture(scope="module", params=PYTHONS[1:], ids=lambda path: path.name)
def installed(
    request: pytest.FixtureRequest,
    wheel: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Installed:
    return install(wheel, request.param, tmp_path_factory.mktemp("home"))


def test_the_oldest_libraries_that_it_takes_are_enough(
    wheel: Path, content: dict[str, bytes], tmp_path: Path
) -> None:
    (metadata,) = [content[name] for name in content if name.endswith("/METADATA")]
    needed = message_from_bytes(metadata).get_all("Requires-Dist", [])
    uv, python = BIN / "uv", tmp_path / "venv/bin/python"
    must(uv, "venv", "--quiet", "--python", PYTHONS[0], tmp_path / "venv")
    # Those of the extras, too.
    oldest = [line.partition(";")[0].replace(">=", "==") for line in needed]
    must(uv, "pip", "install", "--quiet", "--python", python, wheel, *oldest)
    devctl = Installed(tmp_path / "venv", tmp_path)
    assert devctl("devctl", "create", "--help").code == 0
    assert "did you mean `devctl list`?" in devctl("devctl", "lst").stderr
    assert "there is no option `--x`" in devctl("devctl", "list", "--x").stderr
    assert "there is no kubeconfig" in devctl("devctl", "list").stderr
    where = ("--issuer", "https://127.0.0.1:1", "--client-id", "x")
    assert "https://127.0.0.1:1 cannot be reached" in devctl("devctl", "login", *where).stderr


def test_pipx_installs_it_with_pip_and_shows_its_man_pages(wheel: Path, tmp_path: Path) -> None:
    places = {f"PIPX_{name}": str(tmp_path / name) for name in ("HOME", "BIN_DIR", "MAN_DIR")}
    words: list[str | Path] = [
        "install",
        "--quiet",
        "--backend",
        "pip",
        "--python",
        PYTHONS[-1],
        wheel,
    ]
    done = subprocess.run(
        [BIN / "pipx", *words],
        env=clean_environment(tmp_path) | places,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    programs = {path.name for path in (tmp_path / "BIN_DIR").iterdir()}
    assert programs == {
        "devctl",
        "egpu",
        "k8shazgpu",
        "kubectl-devctl",
        "kubectl_complete-devctl",
    }
    assert (tmp_path / "MAN_DIR/man1/devctl-create.1").exists()
    assert Installed(tmp_path / "HOME/venvs/devctl", tmp_path)("devctl", "--version").code == 0
