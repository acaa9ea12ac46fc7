"""Whether anything that decides about a tier's result has changed since it last passed here."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
import sys
from typing import TYPE_CHECKING

from devctl.local.paths import REPOSITORY, state_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from support.tiers.tier import Tier

# What decides about each of them: how they are run, and what they are run with.
_ALWAYS = ("Makefile", "pyproject.toml", "requirements", "scripts", "tests/*.*")


def tracked(paths: Iterable[str], repository: Path = REPOSITORY) -> list[str]:
    """The files below some paths that git knows or would add, with what they hold.

    `*` stands for all of them.
    """
    chosen = [path for path in paths if path != "*"]
    everything = ["."] if "*" in paths else chosen
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *everything],
        capture_output=True,
        text=True,
        check=True,
        cwd=repository,
    ).stdout
    return sorted({name for name in listed.split("\0") if name})


def digest(tier: Tier, repository: Path = REPOSITORY) -> str:
    """Of every input of a tier, of the machine's kernel and of the Python that runs it."""
    found = hashlib.sha256(f"{platform.release()} {sys.version}".encode())
    for name in tracked([*tier.inputs, *_ALWAYS], repository):
        file = repository / name
        content = file.read_bytes() if file.is_file() else b"<not a file>"
        mode = file.lstat().st_mode if file.exists() else 0
        found.update(f"\n{name} {mode:o} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


class Stamps:
    """The digests with which tiers last passed, kept where the machine's caches are."""

    def __init__(self, file: Path | None = None) -> None:
        """Read what there is."""
        self._file = file or state_folder() / "cache" / "test-stamps.json"
        self._known: dict[str, str] = {}
        if self._file.is_file():
            self._known = json.loads(self._file.read_text())

    def is_fresh(self, tier: Tier, now: str) -> bool:
        """Whether a tier has passed with a digest."""
        return self._known.get(tier.name) == now

    def passed(self, tier: Tier, now: str) -> None:
        """Note that it has."""
        self._known[tier.name] = now
        self._file.parent.mkdir(parents=True, exist_ok=True)
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(self._known))
        new.replace(self._file)
