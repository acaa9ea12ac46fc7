"""The last landed commit, and the days on which deep modules last passed: tests/landed.toml."""

from __future__ import annotations

import subprocess
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from pathlib import Path

FILE = REPOSITORY / "tests/landed.toml"


@dataclass(frozen=True)
class Landed:
    """What the repository records about its last landing.

    Attributes:
        commit: The full hash of the commit.
        green: The day on which each deep module last passed, by its id.
    """

    commit: str
    green: Mapping[str, date] = field(default_factory=dict)


def landed(file: Path = FILE) -> Landed:
    """What the file records."""
    return Landed(**tomllib.loads(file.read_text()))


def is_ancestor(commit: str, repository: Path = REPOSITORY) -> bool:
    """Whether HEAD descends from a commit that this clone has."""
    ask = ["git", "merge-base", "--is-ancestor", commit, "HEAD"]
    return subprocess.run(ask, check=False, capture_output=True, cwd=repository).returncode == 0
