"""A plugin for pytest: tests of a plane that is there already, and whose programs run.

For a pytest within a test, on another checkout: `-p support.plane.given --noconftest`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.commands import Kubectl
from support.fixtures import namespace  # noqa: F401 - pytest looks for it here

PROGRAM = "GIVEN_KUBECTL"


@pytest.fixture(scope="session")
def kubectl() -> Kubectl:
    """An administrator's."""
    return Kubectl(Path(os.environ[PROGRAM]), Path(os.environ["KUBECONFIG"]))


@pytest.fixture(scope="session")
def deployed() -> None:
    """Operator and observer run."""
