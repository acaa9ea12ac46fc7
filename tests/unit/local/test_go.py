from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from devctl.local import programs
from devctl.local.programs import TOOLS, GoToolchain, ensure_go, find_go

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from devctl.local.paths import CachePaths


def script(version: str) -> str:
    """A go that reports a version, if it is told to stay as it is."""
    return f'#!/bin/sh\n[ "$1 $GOTOOLCHAIN" = "version local" ] && echo "{version}"\n'


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("go version go1.26.6 linux/amd64", "go1.26.6"),
        ("go version go1.26.9 linux/amd64", "go1.26.9"),
        ("go version go1.27 linux/arm64", "go1.27"),
        ("go version go1.27rc1 linux/amd64", "go1.27rc1"),
        ("go version go1.28-devel_1a2b3c4d Mon Jan 5 linux/amd64", "go1.28-devel_1a2b3c4d"),
        ("go version go1.26.6 X:nodwarf5 linux/amd64", "go1.26.6"),
        ("go version go1.100.0 linux/amd64", "go1.100.0"),
        ("go version go2.0 linux/amd64", "go2.0"),
    ],
)
def test_a_new_enough_go_is_taken(
    fake_program: Callable[[str, str], Path], output: str, version: str
) -> None:
    program = fake_program("go", script(output))
    assert find_go(program) == GoToolchain(program, version)


@pytest.mark.parametrize(
    "output",
    [
        "go version go1.9 linux/amd64",
        "go version go1.9.7 linux/amd64",
        "go version go1.19.8 linux/amd64",
        "go version go1.25.12 linux/amd64",
        "go version devel +1a2b3c Mon Jan 5",
        "go: no such tool",
        "",
    ],
)
def test_an_older_go_or_none_is_not_taken(
    fake_program: Callable[[str, str], Path], output: str
) -> None:
    assert find_go(fake_program("go", script(output))) is None


@pytest.mark.parametrize("go_mod", sorted(TOOLS.glob("*/go.mod")), ids=lambda p: p.parent.name)
def test_a_go_older_than_a_go_mod_wants_is_not_taken(
    fake_program: Callable[[str, str], Path], go_mod: Path
) -> None:
    # GOTOOLCHAIN=local: `go build` refuses to run where go.mod names a newer patch release.
    wanted = re.search(r"^go (\d+)\.(\d+)\.(\d+)$", go_mod.read_text(), re.MULTILINE)
    assert wanted is not None
    major, minor, patch = map(int, wanted.groups())
    older = f"go{major}.{minor}.{patch - 1}" if patch else f"go{major}.{minor - 1}.99"
    assert find_go(fake_program("go", script(f"go version {older} linux/amd64"))) is None


def test_a_missing_go_is_not_taken(tmp_path: Path) -> None:
    assert find_go(tmp_path / "go") is None


def test_an_old_host_go_makes_us_install_the_pinned_one_once(
    fake_program: Callable[[str, str], Path], cache: CachePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_program("go", script("go version go1.19.8 linux/amd64"))
    runs: list[Sequence[str | Path]] = []

    def install(argv: Sequence[str | Path], _log: Path, *, what: str) -> None:
        assert what == "install the Go toolchain"
        runs.append(argv)
        program = cache.go_toolchain / "go" / "bin" / "go"
        program.parent.mkdir(parents=True)
        program.write_text(script("go version go1.26.6 linux/amd64"))
        program.chmod(0o755)

    monkeypatch.setattr(programs, "run_logged", install)
    first, second = ensure_go(cache), ensure_go(cache)
    assert first == second
    assert first.version == "go1.26.6"
    (argv,) = runs
    assert "--require-hashes" in argv
