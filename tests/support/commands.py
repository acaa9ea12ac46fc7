"""How the tests call devctl and kubectl."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Protocol

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Mapping


class Kubectl(Protocol):
    """Runs kubectl against the tests' cluster and returns what it prints."""

    def __call__(self, *args: str, input: str | None = None) -> str:  # noqa: A002 - subprocess's word
        """Raises CalledProcessError, with standard error in it, where kubectl fails."""


def devctl(
    *args: str, env: Mapping[str, str] | None = None, prefix: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run the command line as a person would."""
    return subprocess.run(
        [*prefix, sys.executable, "-m", "devctl", *args],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
    )


def must(result: subprocess.CompletedProcess[str]) -> str:
    """The output of a command that succeeded; its words in the failure if it did not."""
    assert result.returncode == 0, f"{result.args}\n{result.stdout}\n{result.stderr}"
    return result.stdout
