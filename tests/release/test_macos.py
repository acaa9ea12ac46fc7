"""macOS, from here: mypy knows which functions and constants each system's Python has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from devctl.local.paths import REPOSITORY

PARTS = [
    "devctl/__main__.py",
    *(f"devctl/{name}" for name in ("api", "cli", "client", "kube", "oidc")),
]


def test_nothing_is_used_that_macos_lacks() -> None:
    options = ("--platform", "darwin", "--cache-dir", ".mypy_cache/darwin")
    done = subprocess.run(
        [Path(sys.executable).with_name("mypy"), *options, *PARTS],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
