"""Each scenario of molecule/ holds: what a behaviour of a role is worth to whoever relies on it.

The operator is away meanwhile: it would make everything before the scenario's own run of the role,
and would hide that such a run makes nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.commands import must

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths

SCENARIOS = sorted(path.parent.name for path in REPOSITORY.glob("molecule/*/molecule.yml"))


@pytest.mark.usefixtures("operator_away")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_holds_and_leaves_nothing_behind(
    scenario: str,
    kubeconfig: Path,
    images: dict[str, Image],
    kubectl: Kubectl,
    tmp_path: Path,
) -> None:
    programs = Path(sys.executable).parent
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",  # molecule looks for Ansible there
        "HOME": str(tmp_path / "home"),
        "KUBECONFIG": str(kubeconfig),
        "DEVCTL_TEST_IMAGE": images["base"].reference,
        "MOLECULE_EPHEMERAL_DIRECTORY": str(tmp_path / "molecule"),
        "MOLECULE_COMMAND_BORDERS": "false",
        "NO_COLOR": "1",
    }
    must(
        subprocess.run(
            [programs / "molecule", "test", "--scenario-name", scenario],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            env=os.environ | environment,
            timeout=900,
        )
    )

    left = kubectl("get", "namespaces,devserverflavors", "-o", "name").split()
    assert not [name for name in left if f"/molecule-{scenario.replace('_', '-')}" in name]
