"""An earlier release, out of the repository's history, with operator and observer as processes."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

EARLIER = "ae97d6322966346402ab1721df59f1141d9913ef"
"""The commit that an upgrade begins with: the last one before the observer had rooms."""


def check_out(commit: str, folder: Path) -> Path:
    """The files of a commit, in a folder that is made for them."""
    folder.mkdir()
    git = ["git", "-C", str(REPOSITORY)]
    known = subprocess.run([*git, "cat-file", "-e", commit], check=False, capture_output=True)
    if known.returncode:
        # A clone without its history.
        fetch = [*git, "fetch", "--quiet", "--depth=1", "origin", commit]
        subprocess.run(fetch, check=True)
    archive = subprocess.run(
        [*git, "archive", "--format=tar", commit], check=True, capture_output=True
    ).stdout
    subprocess.run(["tar", "-x", "-C", folder], check=True, input=archive)
    return folder
