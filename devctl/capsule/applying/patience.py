"""A mirror is behind the repository that it is of: a commit may be on its way."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

from .objects import command, environment

if TYPE_CHECKING:
    from collections.abc import Callable

_PAUSE = 5.0
_MISSING = 1
"""How git ends if a repository has no object of a name; otherwise, waiting would not help."""


def wait_for(
    commit: str, repository: str, seconds: float, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Wait until a repository has a commit, but no longer than so many seconds."""
    left = seconds
    while left > 0 and _lacks(repository, commit):
        if left == seconds:
            sys.stdout.write(f"waiting for the repository to have commit {commit}\n")
            sys.stdout.flush()
        sleep(_PAUSE)
        left -= _PAUSE


def _lacks(repository: str, commit: str) -> bool:
    try:
        done = subprocess.run(
            [*command(repository), "cat-file", "-e", commit],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    except FileNotFoundError:
        # Without git, whoever reads the objects says so.
        return False
    return done.returncode == _MISSING
