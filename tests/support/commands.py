"""How the tests call devctl and kubectl."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cached_property
from typing import TYPE_CHECKING

import pytest
from support.api import Api

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Kubectl:
    """kubectl as the user of a kubeconfig; a failure of it fails the test.

    Args:
        program: The program.
        kubeconfig: Whose.
    """

    def __init__(self, program: Path, kubeconfig: Path) -> None:
        """Start nothing yet."""
        self.program, self.kubeconfig = program, kubeconfig

    def __call__(self, *args: str, input: str | None = None) -> str:  # noqa: A002 - subprocess's word
        """What it prints."""
        result = subprocess.run(
            [self.program, f"--kubeconfig={self.kubeconfig}", *args],
            input=input,
            capture_output=True,
            check=False,
            text=True,
        )
        if result.returncode:
            pytest.fail(f"kubectl {' '.join(args)}\n{result.stdout}\n{result.stderr}")
        return result.stdout

    @cached_property
    def api(self) -> Api:
        """The same API server without the program: for what a test asks again and again."""
        return Api(self.kubeconfig)


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
