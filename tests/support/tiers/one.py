"""Selected tests of one tier, on a cluster that stays up for the next time."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from support.tiers.prepare import command as prepare
from support.tiers.tier import load, tier_of

from devctl.local.paths import REPOSITORY, state_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RUNS_THERE = (
    *("config", "devctl", "images", "playbooks", "plugins", "requirements", "roles"),
    *("tools", "watches.yaml"),
)
"""What decides about the programs of a cluster; no test does."""


def one(tests: Sequence[str]) -> int:
    """Run some tests of one tier."""
    tier = tier_of(tests[0], load())
    if tier is None:
        sys.exit(f"`{tests[0]}` is in no tier: name a file below tests/, as pytest does")
    os.environ["DEVCTL_E2E_KEEP"] = "1"
    if tier.cluster:
        os.environ["DEVCTL_E2E_RUN"] = str(cluster_as_it_is())
    pytest = [sys.executable, "-m", "pytest", *tests]
    return subprocess.run(pytest, check=False, cwd=REPOSITORY).returncode


def cluster_as_it_is() -> Path:
    """The folder with what was done to the kept cluster; another one after a change."""
    folder = state_folder() / "cache" / f"tests-{digest(RUNS_THERE)[:16]}"
    if subprocess.run(prepare("status"), check=False, cwd=REPOSITORY).returncode:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def digest(paths: Sequence[str], repository: Path = REPOSITORY) -> str:
    """Of all files below some paths, of the machine's kernel and of the Python that runs this."""
    found = hashlib.sha256(f"{platform.release()} {sys.version}".encode())
    for name in tracked(paths, repository):
        file = repository / name
        content = file.read_bytes() if file.is_file() else b"<not a file>"
        mode = file.lstat().st_mode if file.exists() else 0
        found.update(f"\n{name} {mode:o} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


def tracked(paths: Sequence[str], repository: Path = REPOSITORY) -> list[str]:
    """The files below some paths that git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *paths],
        capture_output=True,
        text=True,
        check=True,
        cwd=repository,
    ).stdout
    return sorted({name for name in listed.split("\0") if name})
